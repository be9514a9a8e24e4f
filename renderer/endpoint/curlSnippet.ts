/** A command for a POSIX shell that streams an answer of `model`. */
export function curlSnippet(address: string, model: string): string {
  const body = { model, stream: true, messages: [{ role: 'user', content: 'What is a hop?' }] };
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl -N ${address}/chat/completions \\\n  -H 'Content-Type: application/json' \\\n  -d '${quoted}'`;
}
