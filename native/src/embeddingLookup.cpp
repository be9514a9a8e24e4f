#include "embeddingLookup.h"

#include <cstring>
#include <filesystem>

#include "sharedLibrary.h"

namespace roomful {

EmbeddingLookup::EmbeddingLookup(EmbeddingTable table, std::ifstream file, ggml_to_float_t toFloat, size_t rowBytes)
    : table_(std::move(table)), file_(std::move(file)), toFloat_(toFloat), row_(rowBytes) {}

Outcome<EmbeddingLookup> EmbeddingLookup::open(const LlamaApi& api, const EmbeddingTable& table) {
  const auto bad = [&](const std::string& problem) {
    return Failure{FailureCode::BadArgument, "the embedding table in '" + table.path + "' " + problem};
  };
  if (table.type < 0 || table.type >= GGML_TYPE_COUNT) return bad("has an unknown type " + std::to_string(table.type));
  const auto type = static_cast<ggml_type>(table.type);
  const ggml_type_traits* traits = api.ggml_get_type_traits(type);
  const bool isF32 = type == GGML_TYPE_F32;
  if (traits->blck_size <= 0 || (!isF32 && !traits->to_float)) {
    return bad("has the type " + std::to_string(table.type) + ", which cannot be read");
  }
  if (table.columns % traits->blck_size != 0) return bad("has rows that are not whole blocks of its type");

  const size_t rowBytes = api.ggml_row_size(type, table.columns);
  const std::filesystem::path path = pathFromUtf8(table.path);
  std::error_code error;
  const uint64_t fileBytes = std::filesystem::file_size(path, error);
  if (error) return Failure{FailureCode::LoadFailed, "'" + table.path + "' could not be read: " + error.message()};
  // Divided rather than multiplied: the offset comes from a file's header.
  if (table.offset > fileBytes || (fileBytes - table.offset) / rowBytes < static_cast<uint64_t>(table.rows)) {
    return bad("reaches beyond the end of the file");
  }
  std::ifstream file;
  file.rdbuf()->pubsetbuf(nullptr, 0);
  file.open(path, std::ios::binary);
  if (!file) return Failure{FailureCode::LoadFailed, "'" + table.path + "' could not be opened"};
  return EmbeddingLookup(table, std::move(file), isF32 ? nullptr : traits->to_float, rowBytes);
}

Status EmbeddingLookup::lookUp(std::span<const int32_t> tokens, std::span<float> to) {
  const auto columns = static_cast<size_t>(table_.columns);
  for (size_t i = 0; i < tokens.size(); i++) {
    float* destination = to.data() + i * columns;
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(table_.offset + static_cast<uint64_t>(tokens[i]) * row_.size()));
    file_.read(row_.data(), static_cast<std::streamsize>(row_.size()));
    if (!file_) return Failure{FailureCode::DecodeFailed, "'" + table_.path + "' could not be read any more"};
    if (toFloat_) toFloat_(row_.data(), destination, table_.columns);
    else std::memcpy(destination, row_.data(), row_.size());
    if (table_.scale != 1.0f) {
      for (size_t column = 0; column < columns; column++) destination[column] *= table_.scale;
    }
  }
  return Nothing{};
}

}  // namespace roomful
