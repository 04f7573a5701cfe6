// Names, descriptions and schemas of the tools, as models are told.
#include "agent/tools/schema.h"
#include "agent/tools/toolbox.h"

namespace fiel::agent {
namespace {

Json edits_schema() {
  Json edit = object_schema({{"old", property("string", "text that occurs exactly once")},
                             {"new", property("string", "what replaces it")}},
                            {"old", "new"});
  return Json::object(
      {{"type", "array"}, {"items", edit}, {"description", "applied in order, all or none"}});
}

Json noted() {
  return object_schema(
      {{"note", property("string", "one line: what this version tries, for your own record")}}, {});
}

std::vector<ToolSpec> make_specs() {
  const Json path = property("string", "relative to the workspace");
  return {
      {"shell", "Runs a command in a fresh shell in the workspace: no network, bounded time.",
       object_schema({{"command", property("string", "for /bin/sh -c")},
                      {"timeout_s", property("integer", "at most 120")}},
                     {"command"})},
      {"read", "Reads a file, with line numbers.",
       object_schema({{"path", path},
                      {"first_line", property("integer", "from 1")},
                      {"lines", property("integer", "at most 2000")}},
                     {"path"})},
      {"write", "Writes a whole file.",
       object_schema({{"path", path}, {"text", property("string", "its new content")}},
                     {"path", "text"})},
      {"edit", "Replaces exact texts in a file.",
       object_schema({{"path", path}, {"edits", edits_schema()}}, {"path", "edits"})},
      {"glob", "Lists files by pattern: *, ?, and ** for folders.",
       object_schema({{"pattern", property("string", "for example kernels/*.cu")}}, {"pattern"})},
      {"grep", "Finds lines that contain a text.",
       object_schema({{"text", property("string", "exact text")},
                      {"pattern", property("string", "files to look into; all by default")}},
                     {"text"})},
      {"compile", "Compiles the kernel; errors first.", object_schema({}, {})},
      {"verify", "Judges whether the kernel is right, on fresh inputs and hidden shapes.", noted()},
      {"bench", "Verifies and times the kernel against PyTorch.", noted()},
      {"profile", "Memory traffic, conflicts, occupancy and likely causes.", object_schema({}, {})},
      {"submit", "Hands in the kernel as it is now. This ends the work.", noted()},
      {"todo", "Replaces your list of what to do; it survives when old messages are dropped.",
       object_schema({{"text", property("string", "the whole list")}}, {"text"})},
  };
}

}  // namespace

const std::vector<ToolSpec>& Toolbox::specs() {
  static const std::vector<ToolSpec> list = make_specs();
  return list;
}

}  // namespace fiel::agent
