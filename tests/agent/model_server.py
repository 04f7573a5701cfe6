"""A model's endpoint for tests: wire formats, errors and stalls, by the first part of the path.

    model_server.py        prints its port, serves until stdin closes

POST /SCENARIO/v1/chat/completions and the like. The standard library alone.
"""
from __future__ import annotations

import json
import pathlib
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SEEN: dict[str, int] = {}
LOCK = threading.Lock()


def chunk(delta: dict, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return "data: " + json.dumps({"id": "r", "model": "served", "choices": [choice]}) + "\n\n"


USAGE = ('data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":5,'
         '"prompt_tokens_details":{"cached_tokens":4}}}\n\n')
HELLO = [chunk({"role": "assistant", "content": "hel"}), chunk({"content": "lo"}), chunk({}, "stop"), USAGE,
         "data: [DONE]\n\n"]

NEW_ID_SAME_INDEX = [
    'data: {"id":"r1","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"a1",'
    '"type":"function","index":0,"function":{"name":"read","arguments":{"path":"k.cu"}}}]},"finish_reason":null}]}\n\n',
    'data: {"id":"r2","choices":[{"index":0,"delta":{"tool_calls":[{"id":"a2","type":"function","index":0,'
    '"function":{"name":"compile","arguments":{}}}]},"finish_reason":null}]}\n\n',
    'data: {"id":"r2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n', "data: [DONE]\n\n"]
ID_ONLY_FIRST = [
    chunk({"tool_calls": [{"id": "b1", "function": {"name": "read", "arguments": '{"pa'}}]}),
    chunk({"tool_calls": [{"id": "", "function": {"arguments": 'th":"k.cu"}'}}]}),
    chunk({}, "stop"), "data: [DONE]\n\n"]
NO_IDS = [
    chunk({"tool_calls": [{"index": 0, "id": "", "function": {"name": "read", "arguments": '{"path":"a"}'}}]}),
    chunk({"tool_calls": [{"index": 0, "id": "", "function": {"name": "read", "arguments": '{"path":"b"}'}}]}),
    chunk({}, "tool_calls"), "data: [DONE]\n\n"]

OVERFLOW = {
    "overflow-code": (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}),
    "overflow-words": (400, {"type": "error", "error": {"type": "invalid_request_error",
                             "message": "prompt is too long: 214676 tokens > 200000 maximum"}}),
    "overflow-413": (413, {"error": "Payload Too Large"}),
}


def events(*items: dict) -> list[str]:
    return [f"event: {item['type']}\ndata: {json.dumps(item)}\n\n" for item in items]


THINKING = {"type": "thinking", "thinking": "first é \u2028 then \"this\"", "signature": "c2lnbmVk/+=="}


def anthropic_turn() -> list[str]:
    return events(
        {"type": "message_start", "message": {"model": "claude", "usage": {
            "input_tokens": 3, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 7, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": THINKING["thinking"][:5]}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": THINKING["thinking"][5:]}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": THINKING["signature"]}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "b3BhcXVl"}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "read", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"path\":"}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "\"k.cu\"}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"})


def chat_calls(calls: list[tuple[str, dict]]) -> list[str]:
    parts = [chunk({"role": "assistant", "content": "so"})]
    for i, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        function = {"name": name, "arguments": text[:7]}
        parts.append(chunk({"tool_calls": [{"index": i, "id": f"c{i}", "type": "function", "function": function}]}))
        parts.append(chunk({"tool_calls": [{"index": i, "function": {"arguments": text[7:]}}]}))
    return [*parts, chunk({}, "tool_calls"), USAGE, "data: [DONE]\n\n"]


def responses_calls(calls: list[tuple[str, dict]]) -> list[str]:
    items = [{"type": "function_call", "id": f"f{i}", "call_id": f"c{i}", "name": name, "arguments": json.dumps(a)}
             for i, (name, a) in enumerate(calls)]
    response = {"model": "served", "status": "completed", "output": items,
                "usage": {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5}}
    return events({"type": "response.created", "response": {}},
                  *({"type": "response.output_item.done", "item": item} for item in items),
                  {"type": "response.completed", "response": response})


def anthropic_calls(calls: list[tuple[str, dict]]) -> list[str]:
    usage = {"input_tokens": 7, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0, "output_tokens": 1}
    out = [{"type": "message_start", "message": {"model": "served", "usage": usage}}]
    for i, (name, arguments) in enumerate(calls):
        block = {"type": "tool_use", "id": f"c{i}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        out += [{"type": "content_block_start", "index": i, "content_block": block},
                {"type": "content_block_delta", "index": i, "delta": delta}, {"type": "content_block_stop", "index": i}]
    return events(*out, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
                  {"type": "message_stop"})


def results_in(path: str, q: dict) -> dict[str, str]:
    """Results of calls that a request carries, by the call's id, in the form of its format."""
    if path == "v1/chat/completions":
        return {m["tool_call_id"]: m["content"] for m in q["messages"] if m["role"] == "tool"}
    if path == "v1/responses":
        return {i["call_id"]: i["output"] for i in q["input"] if i.get("type") == "function_call_output"}
    blocks = [b for m in q["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return {b["tool_use_id"]: json.dumps(b["content"]) for b in blocks if b["type"] == "tool_result"}


def tools_in(path: str, q: dict) -> dict[str, dict]:
    """Schemas of the tools that a request offers, by name."""
    if path == "v1/chat/completions":
        return {t["function"]["name"]: t["function"]["parameters"] for t in q["tools"]}
    return {t["name"]: t["parameters" if path == "v1/responses" else "input_schema"] for t in q["tools"]}


CALLS = {"v1/chat/completions": chat_calls, "v1/responses": responses_calls, "v1/messages": anthropic_calls}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        scenario, self.path_below = self.path.lstrip("/").split("/", 1)
        with LOCK:
            count = SEEN[scenario] = SEEN.get(scenario, 0) + 1
        try:
            self.answer(scenario, count, json.loads(body))
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True

    def head(self, status: int, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def send_json(self, status: int, value: object, **headers: str) -> None:
        data = json.dumps(value).encode()
        self.head(status, "application/json", Content_Length=str(len(data)), **headers)
        self.wfile.write(data)

    def stream(self, parts: list[str], broken: bool = False) -> None:
        """Chunked; `broken`: the connection ends in the middle of it."""
        self.head(200, "text/event-stream; charset=utf-8", Transfer_Encoding="chunked")
        for part in parts:
            data = part.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if not broken:
            self.wfile.write(b"0\r\n\r\n")

    def answer(self, scenario: str, count: int, q: dict) -> None:
        if scenario in OVERFLOW:
            return self.send_json(*OVERFLOW[scenario])
        getattr(self, "on_" + scenario.replace("-", "_"))(count, q)

    def on_hello(self, count: int, q: dict) -> None:
        self.stream(HELLO)

    def on_plain(self, count: int, q: dict) -> None:
        message = {"content": "hello", "tool_calls": [{"id": "x", "function": {"name": "list", "arguments": {}}}]}
        self.send_json(200, {"model": "served", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                             "usage": {"prompt_tokens": 2, "completion_tokens": 1}})

    def on_busy(self, count: int, q: dict) -> None:
        if count == 1:
            return self.send_json(429, {"error": {"message": "slow down"}}, Retry_After="7")
        self.stream(HELLO)

    def on_very_busy(self, count: int, q: dict) -> None:
        self.send_json(429, {"error": {"message": "slow down"}}, Retry_After="86400")

    def on_ill(self, count: int, q: dict) -> None:
        if count <= 2:
            return self.send_json(500, {"error": "oops"})
        self.stream(HELLO)

    def on_work(self, count: int, q: dict) -> None:
        """A model that writes a right kernel, and hands it in once it has seen that it was written."""
        tools = tools_in(self.path_below, q)
        assert tools["write"]["required"] == ["path", "text"] and "submit" in tools, tools
        results = results_in(self.path_below, q)
        if not results:
            kernel = (pathlib.Path(__file__).parents[2] / "examples/softmax/simple.cu").read_text()
            calls = [("write", {"path": "kernel.cu", "text": kernel}), ("read", {"path": "kernel.cu", "lines": 1})]
        else:
            assert sorted(results) == ["c0", "c1"] and "wrote" in results["c0"], results
            calls = [("submit", {"note": "as the example"})]
        self.stream(CALLS[self.path_below](calls))

    def on_down(self, count: int, q: dict) -> None:
        self.send_json(503, {"error": "down"})

    def on_cut(self, count: int, q: dict) -> None:
        self.stream(HELLO[:2] if count == 1 else HELLO, broken=count == 1)

    def on_ends_early(self, count: int, q: dict) -> None:
        self.stream(HELLO[:2])

    def on_malformed(self, count: int, q: dict) -> None:
        self.stream([HELLO[0], 'data: {"choices": [{"delta"\n\n'] if count == 1 else HELLO)

    def on_error_inside(self, count: int, q: dict) -> None:
        self.stream([HELLO[0], 'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n']
                    if count == 1 else HELLO)

    def on_huge(self, count: int, q: dict) -> None:
        self.head(200, "text/event-stream")
        block = b"data: " + b"a" * (1 << 20)
        for _ in range(200):
            self.wfile.write(block)

    def on_drip(self, count: int, q: dict) -> None:
        self.head(200, "text/event-stream")
        while True:
            self.wfile.write(b": still here\n\n")
            self.wfile.flush()
            time.sleep(0.05)

    def on_stall(self, count: int, q: dict) -> None:
        self.head(200, "text/event-stream")
        self.wfile.write(HELLO[0].encode())
        self.wfile.flush()
        time.sleep(60)

    def on_new_id(self, count: int, q: dict) -> None:
        self.stream(NEW_ID_SAME_INDEX)

    def on_id_first(self, count: int, q: dict) -> None:
        self.stream(ID_ONLY_FIRST)

    def on_no_ids(self, count: int, q: dict) -> None:
        self.stream(NO_IDS)

    def reasoning_turn(self) -> None:
        call = {"id": "a1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        self.send_json(200, {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "content": None, "reasoning_content": "let me see", "tool_calls": [call]}}]})

    def on_wants_reasoning(self, count: int, q: dict) -> None:
        for m in q["messages"]:
            if m.get("tool_calls") and m.get("reasoning_content") != "let me see":
                return self.send_json(400, {"error": {"message": "Missing `reasoning_content` field in messages[1]"}})
        self.reasoning_turn()

    def on_refuses_reasoning(self, count: int, q: dict) -> None:
        for m in q["messages"]:
            if "reasoning_content" in m:
                return self.send_json(400, {"error": {"message": "unknown field in messages[1]"}})
        self.reasoning_turn()

    def on_picky(self, count: int, q: dict) -> None:
        for key, other in (("max_tokens", "max_completion_tokens"), ("temperature", "the default"), ("stream_options", "none")):
            if key in q:
                return self.send_json(400, {"error": {"message": f"Unsupported parameter: '{key}'. Use '{other}' instead."}})
        self.stream(HELLO)

    def on_refuses_all(self, count: int, q: dict) -> None:
        self.send_json(400, {"error": {"message": f"no, for the {count}. time"}})

    def on_key(self, count: int, q: dict) -> None:
        key = self.headers.get("Authorization", self.headers.get("x-api-key", "none"))
        self.send_json(401, {"error": {"message": f"Incorrect API key provided: {key}"}})

    def on_elsewhere(self, count: int, q: dict) -> None:
        self.send_json(302, {}, Location=f"/hello/{self.path_below}")

    def on_token_ids(self, count: int, q: dict) -> None:
        assert q["return_token_ids"] is True
        first = {"index": 0, "delta": {"content": "ok"}, "token_ids": [53122], "logprobs": {"content": [{"logprob": -0.5}]}}
        last = {"index": 0, "delta": {"content": "!"}, "token_ids": [316], "logprobs": {"content": [{"logprob": -1.5}]},
                "finish_reason": "stop"}
        self.stream(["data: " + json.dumps({"prompt_token_ids": [1, 2], "choices": [first]}) + "\n\n",
                     "data: " + json.dumps({"choices": [last]}) + "\n\n", "data: [DONE]\n\n"])

    def on_anthropic(self, count: int, q: dict) -> None:
        assert self.path_below == "v1/messages" and self.headers["anthropic-version"]
        for m in q["messages"]:
            if m["role"] == "assistant" and m["content"][:2] != [THINKING, {"type": "redacted_thinking", "data": "b3BhcXVl"}]:
                return self.send_json(400, {"type": "error", "error": {"type": "invalid_request_error",
                                            "message": "thinking blocks cannot be modified"}})
        roles = [m["role"] for m in q["messages"]]
        assert all(a != b for a, b in zip(roles, roles[1:])), roles
        self.stream(anthropic_turn())

    def on_responses(self, count: int, q: dict) -> None:
        assert self.path_below == "v1/responses" and q["store"] is False
        reasoning = {"type": "reasoning", "id": "rs_1", "encrypted_content": "ZW5j", "summary": []}
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"k.cu\"}"}
        if count > 1 and (reasoning not in q["input"] or q["input"][-1] != {
                "type": "function_call_output", "call_id": "c1", "output": "text"}):
            return self.send_json(400, {"error": {"message": "items are missing"}})
        response = {"model": "gpt", "status": "completed", "output": [reasoning, call],
                    "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 4}}
        self.stream(events({"type": "response.created", "response": {}},
                           {"type": "response.function_call_arguments.delta", "delta": "{"},
                           {"type": "response.output_item.done", "item": call},
                           {"type": "response.completed", "response": response}))


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
