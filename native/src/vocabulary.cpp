#include "vocabulary.h"

#include <limits>

#include "grammar.h"
#include "logCapture.h"

namespace roomful {

Vocabulary::Vocabulary(const LlamaApi& api, ModelPointer model)
    : api_(api), model_(std::move(model)), vocab_(api.llama_model_get_vocab(model_.get())) {}

Outcome<std::shared_ptr<Vocabulary>> Vocabulary::load(const LlamaApi& api, const std::string& path) {
  const LogCapture log;
  ggml_backend_dev_t noDevices[] = {nullptr};
  llama_model_params params = api.llama_model_default_params();
  params.vocab_only = true;
  params.devices = noDevices;
  params.n_gpu_layers = 0;
  // Without one of its own llama.cpp prints dots.
  params.progress_callback = [](float, void*) { return true; };
  ModelPointer model(api.llama_model_load_from_file(path.c_str(), params), FreeModel{&api});
  if (!model) {
    return Failure{FailureCode::LoadFailed, log.explain("the vocabulary of '" + path + "' could not be loaded")};
  }
  if (api.llama_vocab_type(api.llama_model_get_vocab(model.get())) == LLAMA_VOCAB_TYPE_NONE) {
    return Failure{FailureCode::LoadFailed, "'" + path + "' holds no tokenizer"};
  }
  return std::make_shared<Vocabulary>(api, std::move(model));
}

Outcome<std::vector<int32_t>> Vocabulary::tokenize(const std::string& text, bool addSpecial, bool parseSpecial) const {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return Failure{FailureCode::BadArgument, "the text is longer than 2 GiB"};
  }
  // Mostly a token is several bytes; where it is not, llama.cpp answers with the number that is needed, negated.
  std::vector<int32_t> tokens(text.size() / 2 + 16);
  for (int attempt = 0; attempt < 2; attempt++) {
    const int32_t count =
        api_.llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                            static_cast<int32_t>(tokens.size()), addSpecial, parseSpecial);
    if (count == std::numeric_limits<int32_t>::min()) break;
    tokens.resize(static_cast<size_t>(count < 0 ? -count : count));
    if (count >= 0) return tokens;
  }
  return Failure{FailureCode::BadArgument, "the text has more tokens than can be counted"};
}

std::vector<int32_t> Vocabulary::endTokens() const {
  std::vector<int32_t> tokens;
  for (int32_t token = 0; token < size(); token++) {
    if (api_.llama_vocab_is_eog(vocab_, token)) tokens.push_back(token);
  }
  return tokens;
}

Status Vocabulary::checkGrammar(const std::string& text) const {
  const Outcome<SamplerPointer> grammar = openGrammar(api_, vocab_, text);
  if (!grammar.ok()) return grammar.failure();
  return Nothing{};
}

std::string Vocabulary::text(int32_t token) const {
  if (token < 0 || token >= size()) return {};
  const char* text = api_.llama_vocab_get_text(vocab_, token);
  return text == nullptr ? std::string() : std::string(text);
}

void Vocabulary::appendPiece(int32_t token, std::string& to) const {
  const size_t start = to.size();
  size_t room = 32;
  for (int attempt = 0; attempt < 2; attempt++) {
    to.resize(start + room);
    const int32_t length =
        api_.llama_token_to_piece(vocab_, token, to.data() + start, static_cast<int32_t>(room), 0, false);
    if (length >= 0) {
      to.resize(start + static_cast<size_t>(length));
      return;
    }
    room = static_cast<size_t>(-length);
  }
  to.resize(start);
}

}  // namespace roomful
