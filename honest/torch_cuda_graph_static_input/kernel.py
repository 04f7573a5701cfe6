"""Twin of M02 and T10: captured once a shape; each call copies its input in, replays, and clones the result."""
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs)
        self.replays = {}

    def capture(self, x):
        still = x.clone()
        side = torch.cuda.Stream(x.device)
        side.wait_stream(torch.cuda.current_stream(x.device))
        with torch.cuda.stream(side):
            for _ in range(2):
                torch.nn.functional.gelu(self.linear(still))
        torch.cuda.current_stream(x.device).wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = torch.nn.functional.gelu(self.linear(still))
        return graph, still, y

    def forward(self, x):
        if torch.cuda.is_current_stream_capturing():
            return torch.nn.functional.gelu(self.linear(x))
        if x.shape not in self.replays:
            self.replays[x.shape] = self.capture(x)
        graph, still, y = self.replays[x.shape]
        still.copy_(x)
        graph.replay()
        return y.clone()
