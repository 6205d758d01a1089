// SPDX-License-Identifier: Apache-2.0
#include "softdevice/graph/graph.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "softdevice/device/device.h"

namespace dipu::softdevice {
namespace {

bool sameNode(const GraphNode& left, const GraphNode& right) {
  if (left.kind != right.kind || left.lane != right.lane ||
      left.after != right.after) {
    return false;
  }
  std::size_t node = 0;
  return left.child == nullptr || sameShape(*left.child, *right.child, &node);
}

bool sameDevices(const GraphBody& left, const GraphBody& right) {
  if (left.lanes.size() != right.lanes.size()) return false;
  for (std::size_t lane = 0; lane < left.lanes.size(); ++lane) {
    if (left.lanes[lane].device != right.lanes[lane].device) return false;
  }
  return true;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + '"';
}

std::string dotLabel(const GraphBody& body, std::size_t index) {
  const GraphNode& node = body.nodes[index];
  const GraphLane& lane = body.lanes[node.lane];
  std::string text = std::to_string(index) + ": " + kindName(node.kind);
  if (node.child != nullptr) {
    text += " of " + std::to_string(node.child->nodes.size()) + " nodes";
  } else if (node.kind == TaskKind::kKernel) {
    text += std::string(" ") + (node.name == nullptr ? "unknown" : node.name);
  }
  return text + ", device " + std::to_string(lane.device->index()) +
         ", stream " + std::to_string(lane.stream_id);
}

std::string dotText(const GraphBody& body) {
  std::string text = "digraph captured {\n  node [shape=box];\n";
  for (std::size_t i = 0; i < body.nodes.size(); ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "  " + name + " [label=" + quoted(dotLabel(body, i)) + "];\n";
    for (uint32_t before : body.nodes[i].after) {
      text += "  n" + std::to_string(before) + " -> " + name + ";\n";
    }
  }
  return text + "}\n";
}

soft_status checkGraph(const char* function, const soft_graph* graph) {
  if (soft_status status = checkProcess(function)) return status;
  if (graph != nullptr) return SOFT_OK;
  return fail(SOFT_INVALID_HANDLE, "%s: the graph is NULL", function);
}

soft_status writeFile(const char* path, const std::string& text) {
  std::FILE* file = std::fopen(path, "w");
  bool written = false;
  if (file != nullptr) {
    written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0) written = false;
  }
  if (written) return SOFT_OK;
  return fail(SOFT_INVALID_VALUE, "soft_graph_write_dot: cannot write %s: %s",
              path, std::strerror(errno));
}

}  // namespace

const char* kindName(TaskKind kind) {
  switch (kind) {
    case TaskKind::kKernel:
      return "kernel";
    case TaskKind::kHostFunction:
      return "host function";
    case TaskKind::kCopy:
      return "copy";
    case TaskKind::kFill:
      return "fill";
    case TaskKind::kTimeStamp:
      return "event";
    case TaskKind::kGraph:
      return "graph";
    case TaskKind::kFailure:
      return "failure";
    default:
      return "wait";
  }
}

bool sameShape(const GraphBody& left, const GraphBody& right,
               std::size_t* out_node) {
  std::size_t& node = *out_node;
  for (node = 0; node < left.nodes.size() && node < right.nodes.size();
       ++node) {
    if (!sameNode(left.nodes[node], right.nodes[node])) return false;
  }
  return left.nodes.size() == right.nodes.size() && left.end == right.end &&
         sameDevices(left, right);
}

}  // namespace dipu::softdevice

using dipu::softdevice::checkGraph;
using dipu::softdevice::fail;

soft_status soft_graph_node_count(const soft_graph* graph, size_t* out_count) {
  if (soft_status status = checkGraph("soft_graph_node_count", graph)) {
    return status;
  }
  if (out_count == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_graph_node_count: out_count is NULL");
  }
  *out_count = graph->body->nodes.size();
  return SOFT_OK;
}

soft_status soft_graph_write_dot(const soft_graph* graph, const char* path) {
  if (soft_status status = checkGraph("soft_graph_write_dot", graph)) {
    return status;
  }
  if (path == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_graph_write_dot: path is NULL");
  }
  return dipu::softdevice::withHostMemory("soft_graph_write_dot", [&] {
    return dipu::softdevice::writeFile(path,
                                       dipu::softdevice::dotText(*graph->body));
  });
}

soft_status soft_graph_destroy(soft_graph* graph) {
  // No state of the process is in the way: a graph holds host memory only.
  delete graph;
  return SOFT_OK;
}
