#include "stage.h"

#include <algorithm>
#include <chrono>

#include "activationCodec.h"
#include "hugePages.h"
#include "logCapture.h"
#include "logProbabilities.h"

namespace roomful {

namespace {

Failure bad(std::string message) { return {FailureCode::BadArgument, std::move(message)}; }

Failure notGenerative(const std::string& path) {
  return {FailureCode::LoadFailed, "'" + path + "' is not a model that generates text from text"};
}

bool reportProgress(float fraction, void* progress) { return (*static_cast<const LoadProgress*>(progress))(fraction); }

/** The devices that a model may use, ending with null: none keeps everything on the CPU, null is llama.cpp's choice. */
Outcome<std::vector<ggml_backend_dev_t>> devicesFor(const LlamaApi& api, const StageOptions& options) {
  std::vector<ggml_backend_dev_t> devices;
  if (options.gpuLayers > 0 && options.device) {
    ggml_backend_dev_t device = api.ggml_backend_dev_by_name(options.device->c_str());
    if (!device) return bad("there is no device named '" + *options.device + "'");
    devices.push_back(device);
  }
  devices.push_back(nullptr);
  return devices;
}

/**
 * How many of the runs, from the first on, llama.cpp computes at once with their rows in order: one, or decodes of
 * ascending slots. It reorders the rows of sequences of different lengths (ENGINE.md section 4).
 */
size_t runsTogether(std::span<const Run> runs) {
  size_t count = 1;
  while (count < runs.size() && runs[count - 1].rows() == 1 && runs[count].rows() == 1 &&
         runs[count - 1].slot < runs[count].slot && runs[count - 1].aloneRows == 0 && runs[count].aloneRows == 0) {
    count++;
  }
  return count;
}

/** Four positions per row of activations for multi-section rope (qwen2vl, qwen35), one for all others. */
int32_t positionsPerRow(const LlamaApi& api, const llama_model* model) {
  const llama_rope_type rope = api.llama_model_rope_type(model);
  return rope == LLAMA_ROPE_TYPE_MROPE || rope == LLAMA_ROPE_TYPE_IMROPE ? 4 : 1;
}

}  // namespace

Outcome<std::unique_ptr<Stage>> Stage::load(const LlamaApi& api, const StageOptions& options,
                                            const LoadProgress& progress, CancelQuestion isCancelled) {
  const LogCapture log;
  Outcome<std::vector<ggml_backend_dev_t>> devices = devicesFor(api, options);
  if (!devices.ok()) return devices.failure();

  llama_model_params params = api.llama_model_default_params();
  if (options.gpuLayers == 0 || options.device) params.devices = devices.value().data();
  // The head is one layer more for llama.cpp: it goes along once all layers of the stage are offloaded.
  params.n_gpu_layers = options.gpuLayers >= options.layers ? options.layers + 1 : options.gpuLayers;
  params.progress_callback = reportProgress;
  params.progress_callback_user_data = const_cast<LoadProgress*>(&progress);

  ModelPointer model(api.llama_model_load_from_file(options.path.c_str(), params), FreeModel{&api});
  if (!model) {
    if (!progress(0)) return Failure{FailureCode::Cancelled, "loading '" + options.path + "' was cancelled"};
    return Failure{FailureCode::LoadFailed, log.explain("'" + options.path + "' could not be loaded")};
  }
  auto stage = std::make_unique<Stage>(Key{}, api, options, std::move(model), std::move(isCancelled));
  if (Status checked = stage->checkModel(); !checked.ok()) return checked.failure();
  if (options.embedding) {
    Outcome<EmbeddingLookup> embedding = EmbeddingLookup::open(api, *options.embedding);
    if (!embedding.ok()) return embedding.failure();
    stage->embedding_.emplace(std::move(embedding.value()));
  }
  if (Status vocabulary = stage->openVocabulary(); !vocabulary.ok()) return vocabulary.failure();
  if (options.gpuLayers == 0) useHugePages();
  if (Status context = stage->openContext(); !context.ok()) {
    return Failure{context.failure().code, log.explain(context.failure().message)};
  }
  stage->memory_ = memoryReportFromLog(log.lines());
  if (stage->pooler_) {
    stage->memory_.computeBytes += stage->pooler_->outputGrowth(options.batch, static_cast<uint32_t>(options.slots));
  }
  return stage;
}

Stage::Stage(Key, const LlamaApi& api, const StageOptions& options, ModelPointer model, CancelQuestion isCancelled)
    : api_(api),
      options_(options),
      isCancelled_(std::move(isCancelled)),
      model_(std::move(model)),
      vocabulary_(api.llama_model_get_vocab(model_.get())),
      embeddingLength_(api.llama_model_n_embd(model_.get())),
      vocabularySize_(api.llama_vocab_n_tokens(vocabulary_)),
      hasRecurrentState_(api.llama_model_is_recurrent(model_.get()) || api.llama_model_is_hybrid(model_.get())),
      tap_(api, samplesTokens(options.role) ? "result_norm" : "l_out-" + std::to_string(options.layers - 1),
           embeddingLength_),
      threadpool_(nullptr, FreeThreadpool{nullptr}),
      context_(nullptr, FreeContext{&api}) {
  if (options.role == Role::Embedder) pooler_.emplace(api, model_.get());
}

Status Stage::checkModel() const {
  const std::string file = "'" + options_.path + "'";
  const int32_t layers = api_.llama_model_n_layer(model_.get());
  // A whole model may count layers that only predict further tokens; a stage names its output by the number.
  const bool isCut = options_.role != Role::Whole && !pooler_;
  if (isCut && layers != options_.layers) {
    return bad(file + " holds " + std::to_string(layers) + " layers, not " + std::to_string(options_.layers));
  }
  // A file cut for a stage without head has a vocabulary of one (ENGINE.md section 2).
  if (!givesActivations(options_.role) && vocabularySize_ <= 1) {
    return bad(file + " is a stage without a head and cannot be the last one");
  }
  if (givesActivations(options_.role) && vocabularySize_ != 1) {
    return bad(file + " has a head and cannot be a first or middle stage");
  }
  if (!pooler_ && (api_.llama_model_has_encoder(model_.get()) || !api_.llama_model_has_decoder(model_.get()))) {
    return notGenerative(options_.path);
  }
  if (isCut && api_.llama_model_n_embd_inp(model_.get()) != embeddingLength_) {
    return Failure{FailureCode::LoadFailed, file + " has layers of different widths and cannot be a stage"};
  }
  if (options_.embedding && options_.embedding->columns != embeddingLength_) {
    return bad("the embedding table has " + std::to_string(options_.embedding->columns) + " columns, but " + file +
               " takes " + std::to_string(embeddingLength_));
  }
  return Nothing{};
}

/** The file of a last stage holds no tokenizer; that of a whole model does. */
Status Stage::openVocabulary() {
  if (!options_.vocabulary) return Nothing{};
  Outcome<std::shared_ptr<Vocabulary>> opened = Vocabulary::load(api_, *options_.vocabulary);
  if (!opened.ok()) return opened.failure();
  if (opened.value()->size() != vocabularySize_) {
    return bad("'" + *options_.vocabulary + "' is the vocabulary of another model: it has " +
               std::to_string(opened.value()->size()) + " tokens, not " + std::to_string(vocabularySize_));
  }
  ownVocabulary_ = std::move(opened.value());
  return Nothing{};
}

Status Stage::openContext() {
  const bool head = samplesTokens(options_.role);
  const auto slots = static_cast<uint32_t>(options_.slots);
  llama_context_params params = api_.llama_context_default_params();
  params.n_ctx = options_.contextLength;
  params.n_batch = options_.batch;
  params.n_ubatch = options_.batch;
  params.n_seq_max = slots;
  // llama.cpp reserves one row per slot whatever is asked, and asserts that this limit allows it.
  params.n_outputs_max = std::max(slots, head ? options_.maxOutputs : options_.batch);
  params.n_threads = options_.threads;
  params.n_threads_batch = options_.threads;
  params.type_k = options_.kvType;
  params.type_v = options_.kvType;
  // Flash attention is off on the CPU, where it accumulates in f16 and picks its kernel by the number of rows and of
  // cells in use, so that a slot's result would depend on its neighbours. A quantized cache cannot do without. On a
  // device it is llama.cpp's choice: without it the scores alone take batch x context x heads x 4 bytes.
  params.flash_attn_type = options_.gpuLayers > 0                ? LLAMA_FLASH_ATTN_TYPE_AUTO
                           : options_.kvType != GGML_TYPE_F16 ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                                                              : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  // Every slot has cells of its own. In shared ones the order in which a row's values are added up, and so its rounding,
  // depends on which other slots came between, and every slot pays for the length of all.
  params.kv_unified = false;
  params.swa_full = true;
  params.no_perf = true;
  params.abort_callback = shouldAbort;
  params.abort_callback_data = this;
  if (pooler_) {
    pooler_->configure(params, options_.batch);
  } else {
    params.cb_eval = OutputTap::onTensor;
    params.cb_eval_user_data = &tap_;
  }
  context_.reset(api_.llama_init_from_model(model_.get(), params));
  if (!context_) {
    return Failure{FailureCode::LoadFailed, "'" + options_.path + "' was loaded, but cannot be run"};
  }
  if (pooler_) {
    if (Status checked = pooler_->check(context_.get()); !checked.ok()) {
      return Failure{checked.failure().code, "'" + options_.path + "' cannot be used: " + checked.failure().message};
    }
  } else {
    kv_ = api_.llama_get_memory(context_.get());
    if (!kv_) return notGenerative(options_.path);
  }
  batchLimit_ = std::min(api_.llama_n_batch(context_.get()), options_.batch);
  outputLimit_ = params.n_outputs_max;
  if (head) slots_.resize(slots);
  const bool takesText = options_.role == Role::Whole || pooler_;
  batch_.emplace(batchLimit_, takesText ? 0 : embeddingLength_, takesText ? 1 : positionsPerRow(api_, model_.get()));
  attachThreads();
  return Nothing{};
}

/** Keeps the worker threads between steps; llama.cpp would otherwise start and end them for every graph. */
void Stage::attachThreads() {
  if (options_.threads == 1) return;
  ggml_backend_dev_t cpu = api_.ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  ggml_backend_reg_t backend = api_.ggml_backend_dev_backend_reg(cpu);
  const auto find = [&](const char* name) { return api_.ggml_backend_reg_get_proc_address(backend, name); };
  const auto create = reinterpret_cast<decltype(&ggml_threadpool_new)>(find("ggml_threadpool_new"));
  const auto release = reinterpret_cast<FreeThreadpool::Function>(find("ggml_threadpool_free"));
  if (!create || !release) return;
  ggml_threadpool_params params = api_.ggml_threadpool_params_default(options_.threads);
  // Sleeping between steps rather than spinning: other stages and the member need the cores meanwhile.
  params.poll = 0;
  threadpool_ = {create(&params), FreeThreadpool{release}};
  if (threadpool_) api_.llama_attach_threadpool(context_.get(), threadpool_.get(), threadpool_.get());
}

bool Stage::shouldAbort(void* self) { return static_cast<Stage*>(self)->isCancelled_(); }

Outcome<StepResult> Stage::decode(Step& step) {
  const auto started = std::chrono::steady_clock::now();
  if (Status checked = checkStep(step); !checked.ok()) return checked.failure();
  for (const Run& run : step.runs) {
    if (!run.truncateTo) continue;
    if (Status removed = removeFrom(run.slot, *run.truncateTo); !removed.ok()) return removed.failure();
  }
  fitPads(step);
  StepResult result;
  if (step.tokenCount + step.padRows > 0) {
    const Status done = contained(FailureCode::DecodeFailed, [&] { return decodeRuns(step, result); });
    if (!done.ok()) {
      rollBack(step);
      return done.failure();
    }
  }
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - started;
  result.computeMs = elapsed.count();
  return result;
}

bool Stage::isStale(const Run& run) const {
  if (!run.continuesDrafts() || slots_.empty()) return false;
  const SlotState& slot = slots_[static_cast<size_t>(run.slot)];
  return slot.tokens.size() != static_cast<size_t>(run.start) || slot.next != run.tokens.front();
}

Status Stage::checkStep(const Step& step) const {
  if (step.tokenCount > batchLimit_) {
    return bad("the step has " + std::to_string(step.tokenCount) + " tokens, but the stage takes " +
               std::to_string(batchLimit_) + " at once");
  }
  const int32_t vocabulary = options_.role == Role::First ? embedding_->rows() : vocabularySize_;
  for (const Run& run : step.runs) {
    if (run.tokens.empty() || isStale(run)) continue;
    if (pooler_) {
      if (Status checked = pooler_->checkRun(run); !checked.ok()) return checked;
    } else if (run.embed == RunEmbed::Pooled) {
      return bad("vectors of whole texts come from an embedding model only");
    }
    const int32_t held = lengthOf(run.slot);
    const int32_t next = run.truncateTo ? std::min(held, *run.truncateTo) : held;
    if (run.start != next) {
      return bad("slot " + std::to_string(run.slot) + " holds " + std::to_string(next) +
                 " tokens, but the run starts at position " + std::to_string(run.start));
    }
    if (run.drafts + 1 > outputLimit_) {
      return bad("the run has " + std::to_string(run.drafts) + " drafts, but the stage gives at most " +
                 std::to_string(outputLimit_) + " tokens at once");
    }
    if (run.drafts > 0 && hasRecurrentState_) {
      return bad("drafts cannot be checked: the model keeps a recurrent state, which cannot be cut where one is rejected");
    }
    if (takesTokens(options_.role)) {
      const auto isOutside = [&](int32_t token) { return token < 0 || token >= vocabulary; };
      const auto outside = std::find_if(run.tokens.begin(), run.tokens.end(), isOutside);
      if (outside != run.tokens.end()) {
        return bad("token " + std::to_string(*outside) + " is not in the vocabulary of " + std::to_string(vocabulary));
      }
    }
  }
  return Nothing{};
}

/** Pads go to the end of what a slot holds, as far as its context, the batch and the outputs have room for them. */
void Stage::fitPads(Step& step) const {
  if (step.padRows == 0) return;
  const size_t context = api_.llama_n_ctx_seq(context_.get());
  size_t left = hasRecurrentState_ || pooler_ ? 0 : batchLimit_ - step.tokenCount;
  step.padRows = 0;
  for (Run& run : step.runs) {
    if (run.padRows == 0) continue;
    run.start = lengthOf(run.slot);
    run.padRows = std::min({run.padRows, left, context - static_cast<size_t>(run.start), outputLimit_});
    left -= run.padRows;
    step.padRows += run.padRows;
  }
}

void Stage::removePads(std::span<const Run> runs) {
  for (const Run& run : runs) {
    // A negative start means the whole sequence, which can always be removed.
    if (run.padRows > 0) api_.llama_memory_seq_rm(kv_, run.slot, run.start == 0 ? -1 : run.start, -1);
  }
}

Status Stage::decodeRuns(const Step& step, StepResult& result) {
  if (pooler_) return poolTexts(step, result);
  const bool samples = samplesTokens(options_.role);
  if (!samples) tap_.begin(step.output);
  size_t row = 0;
  for (std::span<const Run> left = step.runs; !left.empty();) {
    if (isStale(left.front())) {
      row += left.front().tokens.size();
      left = left.subspan(1);
      result.dropped++;
      continue;
    }
    if (const Run& run = left.front(); run.aloneRows > 0) {
      if (Status decoded = decodeRowByRow(step, run, row, result); !decoded.ok()) return decoded;
      row += run.tokens.size();
      left = left.subspan(1);
      continue;
    }
    if (const Run& run = left.front(); run.embed != RunEmbed::None && samples) {
      if (Status embedded = embed(step, run, row, result); !embedded.ok()) return embedded;
      row += run.tokens.size();
      left = left.subspan(1);
      continue;
    }
    size_t together = runsTogether(left);
    for (size_t i = 1; i < together; i++) {
      if (isStale(left[i]) || left[i].embed != RunEmbed::None) together = i;
    }
    const std::span<const Run> runs = left.first(together);
    left = left.subspan(together);
    batch_->fill(runs, !samples);
    if (batch_->rows() == 0) continue;
    if (Status prepared = prepareInput(step, row); !prepared.ok()) return prepared;
    if (!samples) tap_.leaveOut(batch_->padding());
    const Status computed = compute();
    removePads(runs);
    if (!computed.ok()) return computed;
    if (samples) {
      if (Status sampled = sample(runs, result); !sampled.ok()) return sampled;
    }
    for (const Run& run : runs) row += run.tokens.size();
  }
  return samples ? Nothing{} : giveOutput(step, result);
}

Status Stage::prepareInput(const Step& step, size_t firstRow) {
  if (options_.role == Role::Whole) return Nothing{};
  if (options_.role == Role::First) return embedding_->lookUp(batch_->tokens(), batch_->activations());
  const size_t rowBytes = static_cast<size_t>(embeddingLength_) * bytesPerValue(step.inputFormat);
  const std::span<const uint8_t> padding = batch_->padding();
  const std::span<float> activations = batch_->activations();
  const auto columns = static_cast<size_t>(embeddingLength_);
  std::span<const std::byte> input = step.input.subspan(firstRow * rowBytes);
  for (size_t first = 0; first < padding.size();) {
    size_t end = first + 1;
    while (end < padding.size() && padding[end] == padding[first]) end++;
    const std::span<float> rows = activations.subspan(first * columns, (end - first) * columns);
    if (padding[first] != 0) {
      std::fill(rows.begin(), rows.end(), 0.0F);
    } else {
      widenActivations(api_, step.inputFormat, input.first((end - first) * rowBytes), rows);
      input = input.subspan((end - first) * rowBytes);
    }
    first = end;
  }
  return Nothing{};
}

Status Stage::compute() {
  const LogCapture log;
  const int32_t status =
      pooler_ ? pooler_->compute(context_.get(), *batch_) : api_.llama_decode(context_.get(), batch_->view());
  api_.llama_synchronize(context_.get());
  if (status == 2 || isCancelled_()) return Failure{FailureCode::Cancelled, "the step was cancelled"};
  if (status == 1) {
    return Failure{FailureCode::DecodeFailed, "the " + std::to_string(api_.llama_n_ctx_seq(context_.get())) +
                                                  " tokens of a slot leave no room for the step"};
  }
  if (status != 0) {
    return Failure{FailureCode::DecodeFailed,
                   log.explain("llama.cpp could not compute the step (status " + std::to_string(status) + ")")};
  }
  return Nothing{};
}

Status Stage::giveOutput(const Step& step, StepResult& result) {
  const Outcome<size_t> written = tap_.end();
  if (!written.ok()) return written.failure();
  const size_t values = step.tokenCount * static_cast<size_t>(embeddingLength_);
  if (written.value() != values * sizeof(float)) {
    return Failure{FailureCode::DecodeFailed,
                   "the last layer gave " + std::to_string(written.value()) + " bytes, not " +
                       std::to_string(values * sizeof(float)) + "; this architecture may not be cut"};
  }
  const bool narrow =
      step.outputFormat == ActivationFormat::F16 && narrowActivations(api_, step.output.first(values * sizeof(float)));
  result.format = narrow ? ActivationFormat::F16 : ActivationFormat::F32;
  result.byteLength = values * bytesPerValue(*result.format);
  return Nothing{};
}

Status Stage::sample(std::span<const Run> runs, StepResult& result) {
  size_t row = 0;
  for (const Run& run : runs) {
    if (!run.tokens.empty()) {
      if (Status sampled = sampleRun(run, row, result); !sampled.ok()) return sampled;
    }
    row += run.rows();
  }
  return Nothing{};
}

/** Takes the tokens of a run that was computed into its slot, and samples what follows; `firstRow` is its row in the batch. */
Status Stage::sampleRun(const Run& run, size_t firstRow, StepResult& result) {
  SlotState& slot = slots_[static_cast<size_t>(run.slot)];
  slot.next.reset();
  // The first token is sure even where it is a draft: isStale() compared it with the one that was sampled.
  const size_t sure = run.firstSampled() + 1;
  slot.tokens.insert(slot.tokens.end(), run.tokens.begin(),
                     run.sampling ? run.tokens.begin() + static_cast<std::ptrdiff_t>(sure) : run.tokens.end());
  if (!run.sampling) return Nothing{};
  for (size_t at = sure; sampleRow(slot, run, at, firstRow + at - 1, result); at++) slot.tokens.push_back(run.tokens[at]);
  return removeFrom(run.slot, static_cast<int32_t>(slot.tokens.size()));
}

/** Samples the token for place `at` of a run, from a row of the batch; true where it is the draft that stands there. */
bool Stage::sampleRow(SlotState& slot, const Run& run, size_t at, size_t row, StepResult& result) {
  Outcome<SampledToken> sampled = contained(FailureCode::DecodeFailed, [&] { return sampleNext(slot, run, row); });
  if (!sampled.ok()) {
    result.failures.push_back({run.slot, sampled.failure().message});
    return false;
  }
  const int32_t token = sampled.value().token;
  result.sampled.push_back(std::move(sampled.value()));
  if (at < run.tokens.size() && token == run.tokens[at]) return true;
  slot.next = token;
  return false;
}

/** A matrix product rounds one row and several of them differently, so rows that are computed alone have the bits of plain decoding. */
Status Stage::decodeRowByRow(const Step& step, const Run& run, size_t firstRow, StepResult& result) {
  const bool samples = samplesTokens(options_.role);
  const size_t together = run.tokens.size() - run.aloneRows;
  for (size_t at = 0; at < run.tokens.size();) {
    const size_t count = at < together ? together : 1;
    const bool isSampled = run.sampling && at + count > run.firstSampled();
    const auto first = run.tokens.begin() + static_cast<std::ptrdiff_t>(at);
    Run part{run.slot, run.start + static_cast<int32_t>(at), {first, first + static_cast<std::ptrdiff_t>(count)}, {}, {}};
    if (isSampled) part.sampling = run.sampling;
    batch_->fill({&part, 1}, !samples);
    if (Status prepared = prepareInput(step, firstRow + at); !prepared.ok()) return prepared;
    if (Status computed = compute(); !computed.ok()) return computed;
    at += count;
    if (!samples) continue;
    SlotState& slot = slots_[static_cast<size_t>(run.slot)];
    slot.tokens.insert(slot.tokens.end(), part.tokens.begin(), part.tokens.end());
    slot.next.reset();
    if (isSampled && !sampleRow(slot, run, at, 0, result)) break;
  }
  return Nothing{};
}

/** All texts of a step in one go. */
Status Stage::poolTexts(const Step& step, StepResult& result) {
  batch_->fill(step.runs, true);
  if (Status computed = compute(); !computed.ok()) return computed;
  return pooler_->take(context_.get(), step.runs, result);
}

/**
 * Adds up what comes out of the output norm, as many rows at once as the stage was given room for, or takes the last row;
 * the head is left out.
 */
Status Stage::embed(const Step& step, const Run& run, size_t firstRow, StepResult& result) {
  const auto columns = static_cast<size_t>(embeddingLength_);
  const bool isLastAlone = run.embed == RunEmbed::Last;
  std::vector<double> sum(columns);
  std::vector<float> rows;
  for (size_t at = 0; at < run.tokens.size();) {
    const size_t count = isLastAlone ? run.tokens.size() : std::min(outputLimit_, run.tokens.size() - at);
    const auto first = run.tokens.begin() + static_cast<std::ptrdiff_t>(at);
    Run part{run.slot, run.start + static_cast<int32_t>(at), {first, first + static_cast<std::ptrdiff_t>(count)}, {}, {}};
    part.embed = run.embed;
    batch_->fill({&part, 1}, false);
    if (Status prepared = prepareInput(step, firstRow + at); !prepared.ok()) return prepared;
    rows.assign((isLastAlone ? 1 : count) * columns, 0);
    tap_.begin(std::as_writable_bytes(std::span(rows)));
    const Status computed = compute();
    const Outcome<size_t> written = tap_.end();
    if (!computed.ok()) return computed;
    if (!written.ok()) return written.failure();
    if (written.value() != rows.size() * sizeof(float)) {
      return Failure{FailureCode::DecodeFailed, "llama.cpp names no output norm of this architecture; it gives no embeddings"};
    }
    for (size_t i = 0; i < rows.size(); i++) sum[i % columns] += rows[i];
    at += count;
  }
  SlotState& slot = slots_[static_cast<size_t>(run.slot)];
  slot.next.reset();
  slot.tokens.insert(slot.tokens.end(), run.tokens.begin(), run.tokens.end());
  result.hidden.push_back({run.slot, {sum.begin(), sum.end()}});
  return Nothing{};
}

Outcome<SampledToken> Stage::sampleNext(SlotState& slot, const Run& run, size_t row) {
  if (!slot.sampler || slot.sampler->sampling() != *run.sampling) {
    slot.sampler.reset();
    const llama_vocab* own = ownVocabulary_ ? ownVocabulary_->handle() : vocabulary_;
    const bool hasTokenizer = api_.llama_vocab_type(own) != LLAMA_VOCAB_TYPE_NONE;
    const SamplerSetting setting{hasTokenizer ? own : nullptr, vocabularySize_,
                                 static_cast<int32_t>(api_.llama_n_ctx_seq(context_.get()))};
    Outcome<SequenceSampler> opened = SequenceSampler::open(api_, setting, *run.sampling);
    if (!opened.ok()) return opened.failure();
    slot.sampler.emplace(std::move(opened.value()));
  }
  const float* given = api_.llama_get_logits_ith(context_.get(), static_cast<int32_t>(row));
  if (!given) return Failure{FailureCode::DecodeFailed, "llama.cpp gave no logits for the step"};
  const std::span<const float> logits(given, static_cast<size_t>(vocabularySize_));
  if (Status followed = slot.sampler->follow(slot.tokens); !followed.ok()) return followed.failure();
  const Outcome<int32_t> token = slot.sampler->sample(logits, room_);
  if (!token.ok()) return token.failure();
  SampledToken sampled{run.slot, static_cast<int32_t>(slot.tokens.size()), token.value(), std::nullopt, {}};
  if (const std::optional<int32_t> count = run.sampling->topLogprobs) {
    LogProbabilities logprobs = LogProbabilities::of(logits, token.value(), static_cast<size_t>(*count));
    sampled.logprob = logprobs.ofToken;
    sampled.top = std::move(logprobs.top);
  }
  return sampled;
}

Status Stage::closeSlot(int32_t slot) {
  if (!slots_.empty()) slots_[static_cast<size_t>(slot)] = SlotState{};
  return removeFrom(slot, 0);
}

Status Stage::truncate(int32_t slot, int32_t position) { return removeFrom(slot, position); }

Status Stage::copyPrefix(int32_t from, int32_t to, int32_t length) {
  const int32_t held = lengthOf(from);
  if (length > held || (hasRecurrentState_ && length != held)) {
    return bad("slot " + std::to_string(from) + " holds " + std::to_string(held) + " tokens; a prefix of " +
               std::to_string(length) + " cannot be copied");
  }
  if (Status removed = removeFrom(to, 0); !removed.ok()) return removed;
  if (!slots_.empty()) {
    const std::vector<int32_t>& tokens = slots_[static_cast<size_t>(from)].tokens;
    slots_[static_cast<size_t>(to)] = SlotState{{tokens.begin(), tokens.begin() + length}, std::nullopt, std::nullopt};
  }
  if (length == 0) return Nothing{};
  // Between slots that share no cells llama.cpp copies all or nothing.
  api_.llama_memory_seq_cp(kv_, from, to, -1, -1);
  return removeFrom(to, length);
}

Status Stage::removeFrom(int32_t slot, int32_t position) {
  if (position >= lengthOf(slot)) return Nothing{};
  // A negative start means the whole sequence, which can always be removed.
  if (api_.llama_memory_seq_rm(kv_, slot, position == 0 ? -1 : position, -1)) {
    if (!slots_.empty()) slots_[static_cast<size_t>(slot)].truncate(static_cast<size_t>(position));
    return Nothing{};
  }
  return bad("slot " + std::to_string(slot) + " cannot be cut at position " + std::to_string(position) +
             ": its model keeps a recurrent state, which only can be dropped as a whole");
}

void Stage::rollBack(const Step& step) {
  for (const Run& run : step.runs) {
    if (run.tokens.empty()) continue;
    // What cannot be cut is dropped as a whole: positions stay checked, so the next step of the slot says so.
    if (removeFrom(run.slot, run.start).ok()) continue;
    api_.llama_memory_seq_rm(kv_, run.slot, -1, -1);
    if (!slots_.empty()) slots_[static_cast<size_t>(run.slot)].truncate(0);
  }
}

int32_t Stage::lengthOf(int32_t slot) const { return kv_ ? api_.llama_memory_seq_pos_max(kv_, slot) + 1 : 0; }

}  // namespace roomful
