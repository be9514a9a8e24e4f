/** Yields the lines of a byte stream, without their ends; a last line without an end counts. */
export async function* readLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.map((line) => line.replace(/\r$/, ''));
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
