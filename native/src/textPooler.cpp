#include "textPooler.h"

#include <string>

namespace roomful {

namespace {

/** A value of the model's header under its architecture's name; empty where there is none. */
std::string ofArchitecture(const LlamaApi& api, const llama_model* model, const char* name) {
  char value[128] = "";
  if (api.llama_model_meta_val_str(model, "general.architecture", value, sizeof value) < 0) return "";
  const std::string key = std::string(value) + "." + name;
  value[0] = '\0';
  if (api.llama_model_meta_val_str(model, key.c_str(), value, sizeof value) < 0) return "";
  return value;
}

}  // namespace

void TextPooler::configure(llama_context_params& params, uint32_t batch) const {
  params.embeddings = true;
  // The model's own; one that names none (0) gets what its kind is trained with.
  const std::string named = ofArchitecture(api_, model_, "pooling_type");
  const bool isNamed = !named.empty() && named != "0";
  params.pooling_type = isNamed ? LLAMA_POOLING_TYPE_UNSPECIFIED : LLAMA_POOLING_TYPE_MEAN;
  // llama.cpp reserves for as many tokens in each sequence, and asserts that all of them are outputs.
  const uint32_t rows = (batch + params.n_seq_max - 1) / params.n_seq_max * params.n_seq_max;
  params.n_batch = rows;
  params.n_ubatch = rows;
  params.n_outputs_max = rows;
  // No step goes on from an earlier one. In shared cells the texts of a step stay in one micro-batch, which tokens that
  // look ahead must not be parted by.
  params.n_ctx = rows;
  params.kv_unified = true;
}

Status TextPooler::check(const llama_context* context) const {
  const enum llama_pooling_type pooling = api_.llama_pooling_type(context);
  if (pooling == LLAMA_POOLING_TYPE_MEAN || pooling == LLAMA_POOLING_TYPE_CLS || pooling == LLAMA_POOLING_TYPE_LAST) {
    return Nothing{};
  }
  const char* why = pooling == LLAMA_POOLING_TYPE_RANK ? "it ranks texts against each other, and gives no vectors of them"
                                                       : "it pools in a way that is not known";
  return Failure{FailureCode::LoadFailed, why};
}

Status TextPooler::checkRun(const Run& run) const {
  const auto longest = static_cast<size_t>(api_.llama_model_n_ctx_train(model_));
  if (run.embed != RunEmbed::Pooled) return Failure{FailureCode::BadArgument, "the model gives vectors of whole texts only"};
  if (run.start != 0) return Failure{FailureCode::BadArgument, "a text begins at position 0"};
  // Beyond them a model with positions of its own would read past the end of their table.
  if (run.tokens.size() > longest) {
    return Failure{FailureCode::BadArgument, "the text has " + std::to_string(run.tokens.size()) +
                                                 " tokens, but the model takes " + std::to_string(longest)};
  }
  return Nothing{};
}

int32_t TextPooler::compute(llama_context* context, StepBatch& batch) const {
  if (llama_memory_t memory = api_.llama_get_memory(context)) api_.llama_memory_clear(memory, false);
  return api_.llama_model_has_encoder(model_) ? api_.llama_encode(context, batch.view())
                                              : api_.llama_decode(context, batch.view());
}

Status TextPooler::take(llama_context* context, std::span<const Run> runs, StepResult& result) const {
  const int32_t columns = api_.llama_model_n_embd_out(model_);
  for (const Run& run : runs) {
    if (run.tokens.empty()) continue;
    const float* values = api_.llama_get_embeddings_seq(context, run.slot);
    if (!values) return Failure{FailureCode::DecodeFailed, "llama.cpp gave no vector of a text"};
    result.hidden.push_back({run.slot, {values, values + columns}});
  }
  return Nothing{};
}

uint64_t TextPooler::outputGrowth(uint32_t batch, uint32_t slots) const {
  const auto vocabulary = static_cast<uint64_t>(api_.llama_vocab_n_tokens(api_.llama_model_get_vocab(model_)));
  const auto columns = static_cast<uint64_t>(api_.llama_model_n_embd_out(model_));
  // llama.cpp keeps room for the logits of every row though it computes none (llama_context::output_reserve).
  return (batch > slots ? batch - slots : 0) * (vocabulary + columns) * sizeof(float);
}

}  // namespace roomful
