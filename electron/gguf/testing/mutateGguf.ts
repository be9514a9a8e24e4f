/** A source of numbers from 0 to below 1; equal seeds give equal numbers (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Lengths and counts that readers get wrong. */
const edges = [
  ...[0n, 1n, 2n, 4n, 7n, 8n, 9n, 12n, 31n, 32n, 33n, 63n, 64n, 127n, 128n, 255n, 256n, 512n, 1024n],
  ...[15n, 16n, 31n, 32n, 47n, 48n, 52n, 53n, 62n, 63n].flatMap((bits) => [
    2n ** bits - 1n,
    2n ** bits,
    2n ** bits + 1n,
  ]),
  2n ** 64n - 1n,
  2n ** 64n - 8n,
];

/**
 * A file that differs from the given one as files go wrong by accident or on purpose: bits, lengths at the edges, cuts,
 * pieces that are missing, doubled, moved or from another file. `headerBytes` is how far the changes mostly go.
 */
export function mutateGguf(from: Buffer, other: Buffer, headerBytes: number, random: () => number): Buffer {
  let bytes = Buffer.from(from);
  const below = (most: number): number => Math.floor(random() * most);
  const place = (): number => below(Math.max(1, Math.min(headerBytes, bytes.byteLength)));
  const changes = 1 + below(4);
  for (let change = 0; change < changes && bytes.byteLength > 16; change++) {
    const at = place();
    switch (below(8)) {
      case 0:
        bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
        break;
      case 1:
        bytes[at] = below(256);
        break;
      case 2: {
        const edge = edges[below(edges.length)] ?? 0n;
        const aligned = Math.min(at, bytes.byteLength - 8);
        if (below(2) === 0) bytes.writeBigUInt64LE(edge, aligned);
        else bytes.writeUInt32LE(Number(edge & 0xffff_ffffn), aligned);
        break;
      }
      case 3:
        bytes = bytes.subarray(0, below(3) === 0 ? below(bytes.byteLength) : at);
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + below(64))]);
        break;
      case 5: {
        const piece = bytes.subarray(at, at + 1 + below(128));
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
        break;
      }
      case 6: {
        const piece = other.subarray(below(other.byteLength), below(other.byteLength));
        bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)]);
        break;
      }
      default:
        bytes.copy(bytes, place(), at, Math.min(bytes.byteLength, at + 1 + below(32)));
    }
  }
  return bytes;
}
