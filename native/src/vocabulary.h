#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "llamaApi.h"

namespace roomful {

/** The tokenizer of a GGUF file, loaded without its weights. */
class Vocabulary {
 public:
  static Outcome<std::shared_ptr<Vocabulary>> load(const LlamaApi& api, const std::string& path);

  Vocabulary(const LlamaApi& api, ModelPointer model);

  int32_t size() const { return api_.llama_vocab_n_tokens(vocab_); }
  /** -1 where the model has none. */
  int32_t bosToken() const { return api_.llama_vocab_bos(vocab_); }
  int32_t eosToken() const { return api_.llama_vocab_eos(vocab_); }
  /** As the vocabulary spells a token, control tokens too; empty for one that there is not. */
  std::string text(int32_t token) const;
  bool addsBos() const { return api_.llama_vocab_get_add_bos(vocab_); }

  Outcome<std::vector<int32_t>> tokenize(const std::string& text, bool addSpecial, bool parseSpecial) const;
  std::vector<int32_t> endTokens() const;
  const llama_vocab* handle() const { return vocab_; }
  /** Why a GBNF grammar cannot be used with this vocabulary; ok where it can. */
  Status checkGrammar(const std::string& text) const;
  /** Appends the bytes of a token; nothing for control tokens. */
  void appendPiece(int32_t token, std::string& to) const;

 private:
  const LlamaApi& api_;
  ModelPointer model_;
  const llama_vocab* vocab_;
};

}  // namespace roomful
