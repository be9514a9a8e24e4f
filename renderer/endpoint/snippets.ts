/** A ready piece of a program or of settings that talks to this member. */
export interface Snippet {
  id: string;
  /** For people: `Python`. */
  name: string;
  /** What to do with it, where that is not clear. */
  hint: string | null;
  text: string;
}

/** For a shell, two languages and four editors. `model` is what to ask; the key is never looked at on loopback. */
export function snippets(address: string, model: string): Snippet[] {
  const key = 'roomful';
  return [
    { id: 'curl', name: 'curl', hint: null, text: curlSnippet(address, model) },
    {
      id: 'python',
      name: 'Python',
      hint: 'pip install openai',
      text: `from openai import OpenAI

client = OpenAI(base_url=${quoted(address)}, api_key=${quoted(key)})
for chunk in client.chat.completions.create(
    model=${quoted(model)},
    messages=[{"role": "user", "content": "What is a hop?"}],
    stream=True,
):
    print(chunk.choices[0].delta.content or "", end="") if chunk.choices else None`,
    },
    {
      id: 'node',
      name: 'Node',
      hint: 'npm install openai',
      text: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${quoted(address)}, apiKey: ${quoted(key)} });
const stream = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: 'user', content: 'What is a hop?' }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`,
    },
    {
      id: 'continue',
      name: 'VS Code, JetBrains (Continue)',
      hint: 'In ~/.continue/config.yaml',
      text: `models:
  - name: Roomful
    provider: openai
    model: ${quoted(model)}
    apiBase: ${quoted(address)}
    apiKey: ${quoted(key)}
    roles: [chat, edit]`,
    },
    {
      id: 'zed',
      name: 'Zed',
      hint: 'In settings.json',
      text: `${JSON.stringify(
        {
          language_models: {
            openai_compatible: {
              Roomful: {
                api_url: address,
                available_models: [{ name: model, display_name: 'Roomful', max_tokens: 8192 }],
              },
            },
          },
        },
        null,
        2,
      )}`,
    },
    {
      id: 'neovim',
      name: 'Neovim (CodeCompanion)',
      hint: 'In your setup of codecompanion.nvim',
      text: `require('codecompanion').setup({
  adapters = {
    http = {
      roomful = function()
        return require('codecompanion.adapters').extend('openai_compatible', {
          env = { url = ${quoted(address.replace(/\/v1$/, ''))}, api_key = ${quoted(key)} },
          schema = { model = { default = ${quoted(model)} } },
        })
      end,
    },
  },
  strategies = { chat = { adapter = 'roomful' } },
})`,
    },
    {
      id: 'emacs',
      name: 'Emacs (gptel)',
      hint: 'In your init file',
      text: `(gptel-make-openai "Roomful"
  :host ${quoted(address.replace(/^https?:\/\/([^/]+).*$/, '$1'))}
  :protocol "http"
  :endpoint "/v1/chat/completions"
  :stream t
  :key ${quoted(key)}
  :models '(${quoted(model)}))`,
    },
  ];
}

/** A command for a POSIX shell that streams an answer of `model`. */
function curlSnippet(address: string, model: string): string {
  const body = { model, stream: true, messages: [{ role: 'user', content: 'What is a hop?' }] };
  const shellQuoted = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -N ${address}/chat/completions \\\n  -H 'Content-Type: application/json' \\\n  -d '${shellQuoted}'`;
}

/** The string literals of all these languages are those of JSON. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
