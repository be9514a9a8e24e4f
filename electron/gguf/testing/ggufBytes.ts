import { type EncodableValue, encodeEntry, encodeTensor } from '../encodeHeader.ts';

export interface GgufParts {
  version?: number;
  /** What the header claims, where it is not the truth. */
  claimedTensors?: bigint;
  claimedEntries?: bigint;
  /** Key and value, or bytes as they are. */
  entries?: (readonly [string, EncodableValue] | Buffer)[];
  /** Tensors of `byteLength` bytes each, back to back unless `offset` says otherwise; or bytes as they are. */
  tensors?: (TestTensor | Buffer)[];
  alignment?: number;
}

export interface TestTensor {
  name: string;
  type?: number;
  dimensions?: readonly number[];
  byteLength?: number;
  offset?: number;
}

/** A GGUF of these parts, right or wrong, data of zeros included. */
export function ggufBytes(parts: GgufParts): Buffer {
  const { version = 3, entries = [], tensors = [], alignment = 32 } = parts;
  const start = Buffer.alloc(24);
  start.write('GGUF');
  start.writeUInt32LE(version, 4);
  start.writeBigUInt64LE(parts.claimedTensors ?? BigInt(tensors.length), 8);
  start.writeBigUInt64LE(parts.claimedEntries ?? BigInt(entries.length), 16);
  let data = 0;
  const lines = tensors.map((tensor) => {
    if (Buffer.isBuffer(tensor)) return tensor;
    const { name, type = 0, dimensions = [8], byteLength = 32, offset = data } = tensor;
    data += Math.ceil(byteLength / alignment) * alignment;
    return encodeTensor({ name, type, dimensions, offset });
  });
  const encoded = entries.map((entry) => (Buffer.isBuffer(entry) ? entry : encodeEntry(...entry)));
  const header = Buffer.concat([start, ...encoded, ...lines]);
  return Buffer.concat([
    header,
    Buffer.alloc(Math.ceil(header.byteLength / alignment) * alignment - header.byteLength + data),
  ]);
}

/** The least that makes a model: an architecture, its layers, a tensor for each. */
export function modelEntries(layers = 1, architecture = 'llama'): [string, EncodableValue][] {
  return [
    ['general.architecture', { type: 'string', value: architecture }],
    [`${architecture}.block_count`, { type: 'u32', value: layers }],
  ];
}

export const oneTensor: TestTensor[] = [{ name: 'blk.0.attn_norm.weight' }];

/** Little-endian integers, as headers hold them. */
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

/** A key or string as headers hold it; the length can lie. */
export function text(value: string, claimed = BigInt(Buffer.byteLength(value))): Buffer {
  return Buffer.concat([u64(claimed), Buffer.from(value)]);
}
