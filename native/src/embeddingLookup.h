#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "llamaApi.h"

namespace roomful {

/** Where the rows of a token embedding lie in a GGUF file. */
struct EmbeddingTable {
  std::string path;
  uint64_t offset;
  int32_t type;
  int32_t rows;
  int32_t columns;
  float scale;
};

/**
 * Reads rows of the token embedding from its file, as get_rows of llama.cpp would give them. Rows are read when they
 * are needed, so the table costs no memory beyond the system's file cache.
 */
class EmbeddingLookup {
 public:
  static Outcome<EmbeddingLookup> open(const LlamaApi& api, const EmbeddingTable& table);

  int32_t rows() const { return table_.rows; }
  int32_t columns() const { return table_.columns; }

  /** Writes one row per token, [tokens, columns]. The tokens must lie in [0, rows). */
  Status lookUp(std::span<const int32_t> tokens, std::span<float> to);

 private:
  EmbeddingLookup(EmbeddingTable table, std::ifstream file, ggml_to_float_t toFloat, size_t rowBytes);

  EmbeddingTable table_;
  std::ifstream file_;
  ggml_to_float_t toFloat_;
  std::vector<char> row_;
};

}  // namespace roomful
