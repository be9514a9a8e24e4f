#include "stageArguments.h"

#include <cmath>

#include "argumentReader.h"

namespace roomful {

namespace {

constexpr int64_t kMostTokens = 1 << 30;
/** llama.cpp keeps about 50 bytes of bookkeeping per token of the context, on top of the KV itself. */
constexpr int64_t kLongestContext = 1 << 24;
constexpr float kMostBias = 1e9f;
constexpr int64_t kMostLogprobs = 1024;
constexpr int64_t kMostPadRows = 64;
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr const char* const kRoles[] = {"whole", "first", "middle", "last", "embedder"};
constexpr const char* const kEmbeds[] = {"sum", "last", "pooled"};
constexpr const char* const kFormats[] = {"f16", "f32"};

EmbeddingTable readEmbedding(ArgumentReader& reader) {
  return EmbeddingTable{
      .path = reader.text("path"),
      .offset = static_cast<uint64_t>(reader.integer("offset", 0, kMostBytes)),
      .type = static_cast<int32_t>(reader.integer("type", 0, GGML_TYPE_COUNT - 1)),
      .rows = static_cast<int32_t>(reader.integer("rows", 1, kMostTokens)),
      .columns = static_cast<int32_t>(reader.integer("columns", 1, kMostTokens)),
      .scale = static_cast<float>(reader.number("scale", -1e9, 1e9)),
  };
}

std::vector<TokenBias> readLogitBias(ArgumentReader& reader) {
  const Napi::Int32Array tokens = reader.int32Array("tokens");
  const Napi::Float32Array biases = reader.float32Array("biases");
  if (tokens.ElementLength() != biases.ElementLength()) reader.reject("has tokens and biases of different lengths");
  if (reader.failure()) return {};
  std::vector<TokenBias> all;
  for (size_t i = 0; i < tokens.ElementLength(); i++) {
    // Infinity would be worth a ban, but a sum of both infinities is no number.
    if (!(std::fabs(biases[i]) <= kMostBias)) reader.reject("has a bias that is not a number from -1e9 to 1e9");
    all.push_back({tokens[i], biases[i]});
  }
  return all;
}

Sampling readSampling(ArgumentReader& reader) {
  Sampling sampling{};
  sampling.temperature = reader.number("temperature", 0, 1e6);
  sampling.topK = static_cast<int32_t>(reader.integer("topK", 0, INT32_MAX));
  sampling.topP = reader.number("topP", 0, 1);
  sampling.minP = reader.number("minP", 0, 1);
  sampling.repetitionPenalty = reader.number("repetitionPenalty", 1e-3, 1e3);
  sampling.frequencyPenalty = reader.number("frequencyPenalty", -1e3, 1e3);
  sampling.presencePenalty = reader.number("presencePenalty", -1e3, 1e3);
  if (!reader.isNull("logitBias")) {
    ArgumentReader bias = reader.object("logitBias");
    sampling.logitBias = readLogitBias(bias);
    reader.include(bias);
  }
  sampling.grammar = reader.textOrNull("grammar");
  sampling.promptLength = static_cast<int32_t>(reader.integer("promptLength", 0, kMostTokens));
  if (!reader.isNull("topLogprobs")) {
    sampling.topLogprobs = static_cast<int32_t>(reader.integer("topLogprobs", 0, kMostLogprobs));
  }
  sampling.seed = reader.unsigned64("seed");
  sampling.choice = static_cast<uint64_t>(reader.integer("choice", 0, INT32_MAX));
  return sampling;
}

Run readRun(ArgumentReader& reader, const StepLimits& limits) {
  Run run{};
  run.slot = static_cast<int32_t>(reader.integer("slot", 0, limits.slots - 1));
  run.start = static_cast<int32_t>(reader.integer("start", 0, kMostTokens));
  const Napi::Int32Array tokens = reader.int32Array("tokens");
  run.tokens.assign(tokens.Data(), tokens.Data() + tokens.ElementLength());
  if (!reader.isNull("truncateTo")) run.truncateTo = static_cast<int32_t>(reader.integer("truncateTo", 0, kMostTokens));
  if (!reader.isNull("sampling")) {
    ArgumentReader sampling = reader.object("sampling");
    run.sampling = readSampling(sampling);
    reader.include(sampling);
    if (!samplesTokens(limits.role)) {
      reader.reject("asks for a token, which only a last stage or a whole model gives");
    }
    if (run.tokens.empty()) reader.reject("asks for a token after no tokens");
  }
  if (!reader.isNull("drafts")) {
    run.drafts = static_cast<size_t>(reader.integer("drafts", 0, static_cast<int64_t>(run.tokens.size())));
  }
  if (!reader.isNull("aloneRows")) {
    run.aloneRows = static_cast<size_t>(reader.integer("aloneRows", 0, static_cast<int64_t>(run.tokens.size())));
  }
  if (!reader.isNull("padRows")) run.padRows = static_cast<size_t>(reader.integer("padRows", 0, kMostPadRows));
  if (run.padRows > 0 && !run.tokens.empty()) reader.reject("has tokens and rows that pad");
  if (!reader.isNull("embed")) run.embed = static_cast<RunEmbed>(reader.oneOf("embed", kEmbeds) + 1);
  if (run.embed != RunEmbed::None && run.sampling) reader.reject("asks for a token and for an embedding");
  if (run.drafts > 0 && !run.sampling) reader.reject("has drafts, but asks for no token to check them with");
  return run;
}

}  // namespace

Outcome<StageOptions> readStageOptions(const LlamaApi& api, const Napi::Value& value) {
  ArgumentReader reader(value, "options");
  StageOptions options{};
  options.path = reader.text("path");
  options.role = static_cast<Role>(reader.oneOf("role", kRoles));
  options.layers = static_cast<int32_t>(reader.integer("layers", 1, 1 << 16));
  options.contextLength = static_cast<uint32_t>(reader.integer("contextLength", 1, kLongestContext));
  const auto mostSlots = static_cast<int64_t>(api.llama_max_parallel_sequences());
  options.slots = static_cast<int32_t>(reader.integer("slots", 1, mostSlots));
  options.batch = static_cast<uint32_t>(reader.integer("batch", 1, 1 << 20));
  options.threads = static_cast<int32_t>(reader.integer("threads", 1, GGML_MAX_N_THREADS));
  options.gpuLayers = static_cast<int32_t>(reader.integer("gpuLayers", 0, 1 << 16));
  options.device = reader.textOrNull("device");
  options.kvType = reader.oneOf("kvType", {"f16", "q8_0"}) == 0 ? GGML_TYPE_F16 : GGML_TYPE_Q8_0;
  options.maxOutputs = static_cast<uint32_t>(reader.integer("maxOutputs", 1, 1 << 20));
  if (!reader.isNull("embedding")) {
    ArgumentReader embedding = reader.object("embedding");
    options.embedding = readEmbedding(embedding);
    reader.include(embedding);
  }
  options.vocabulary = reader.textOrNull("vocabulary");
  if (options.vocabulary && options.role != Role::Last) reader.reject("may hold a vocabulary for a last stage only");
  const bool isFirst = options.role == Role::First;
  if (isFirst != options.embedding.has_value()) {
    reader.reject(isFirst ? "need an embedding for a first stage" : "may hold an embedding for a first stage only");
  }
  if (reader.failure()) return *reader.failure();
  return options;
}

Outcome<ReadStep> readStep(const Napi::Value& value, const StepLimits& limits) {
  ArgumentReader reader(value, "step");
  ReadStep read{};
  Step& step = read.step;
  const Napi::Array runs = reader.array("runs");
  std::vector<bool> seen(static_cast<size_t>(limits.slots));
  for (uint32_t i = 0; i < runs.Length() && !reader.failure(); i++) {
    ArgumentReader runReader(runs.Get(i), "step.runs[" + std::to_string(i) + "]");
    Run run = readRun(runReader, limits);
    reader.include(runReader);
    if (reader.failure()) break;
    if (seen[static_cast<size_t>(run.slot)]) reader.reject("has two runs of slot " + std::to_string(run.slot));
    seen[static_cast<size_t>(run.slot)] = true;
    step.tokenCount += run.tokens.size();
    step.padRows += run.padRows;
    step.runs.push_back(std::move(run));
  }
  if (step.runs.empty()) reader.reject("has no runs");

  // A step may carry truncations alone; then there are no activations either way.
  if (step.tokenCount + step.padRows == 0) {
    if (reader.failure()) return *reader.failure();
    return read;
  }
  const size_t values = step.tokenCount * static_cast<size_t>(limits.columns);
  const bool takesInput = !takesTokens(limits.role);
  if (takesInput == reader.isNull("input")) {
    reader.reject(takesInput ? "needs an input: a middle or last stage computes from activations"
                             : "has an input, but a first stage or a whole model computes from tokens");
  } else if (takesInput) {
    ArgumentReader input = reader.object("input");
    step.inputFormat = static_cast<ActivationFormat>(input.oneOf("format", kFormats));
    const Napi::Uint8Array bytes = input.bytes("bytes");
    const size_t expected = values * bytesPerValue(step.inputFormat);
    if (bytes.ByteLength() != expected) {
      input.reject("holds " + std::to_string(bytes.ByteLength()) + " bytes, not " + std::to_string(expected));
    }
    reader.include(input);
    step.input = std::as_bytes(std::span(bytes.Data(), bytes.ByteLength()));
    read.inUse.push_back(bytes);
  }

  step.outputFormat = static_cast<ActivationFormat>(reader.oneOf("outputFormat", kFormats));
  const bool givesOutput = givesActivations(limits.role);
  if (givesOutput == reader.isNull("output")) {
    reader.reject(givesOutput ? "needs an output buffer: a first or middle stage gives activations"
                              : "has an output buffer, but the last stage or a whole model gives tokens");
  } else if (givesOutput) {
    Napi::Uint8Array bytes = reader.bytes("output");
    const size_t needed = values * sizeof(float);
    if (bytes.ByteLength() < needed) {
      reader.reject("has an output buffer of " + std::to_string(bytes.ByteLength()) + " bytes; it needs " +
                    std::to_string(needed) + ", for when f16 cannot hold the values");
    }
    step.output = std::as_writable_bytes(std::span(bytes.Data(), bytes.ByteLength()));
    read.inUse.push_back(bytes);
  }
  if (reader.failure()) return *reader.failure();
  return read;
}

}  // namespace roomful
