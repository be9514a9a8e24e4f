import { type FixedType, fixedBytes, valueTypeId } from './valueType.ts';

/** A metadata value to write. */
export type EncodableValue =
  | { type: 'string'; value: string }
  | { type: FixedType; value: number | bigint | boolean }
  | { type: 'array'; element: 'string'; values: readonly string[] }
  | { type: 'array'; element: FixedType; values: readonly (number | bigint | boolean)[] };

/** A tensor's line in a header. */
export interface EncodableTensor {
  name: string;
  type: number;
  dimensions: readonly number[];
  /** From the start of the data. */
  offset: number;
}

/** Magic, version 3 and the two counts: the first bytes of a GGUF. */
export function encodeStart(tensors: number, entries: number): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.write('GGUF', 'latin1');
  bytes.writeUInt32LE(3, 4);
  bytes.writeBigUInt64LE(BigInt(tensors), 8);
  bytes.writeBigUInt64LE(BigInt(entries), 16);
  return bytes;
}

/** One metadata entry, as it lies in a file. */
export function encodeEntry(key: string, value: EncodableValue): Buffer {
  return Buffer.concat([encodeText(key), encodeId(valueTypeId(value.type)), encodeValue(value)]);
}

/** An array entry whose elements are already bytes, such as a part of another array. */
export function encodeArrayEntry(key: string, element: FixedType, elements: Uint8Array): Buffer {
  const count = elements.byteLength / fixedBytes[element];
  return Buffer.concat([
    encodeText(key),
    encodeId(valueTypeId('array')),
    encodeId(valueTypeId(element)),
    encodeFixed('u64', BigInt(count)),
    elements,
  ]);
}

export function encodeTensor({ name, type, dimensions, offset }: EncodableTensor): Buffer {
  return Buffer.concat([
    encodeText(name),
    encodeId(dimensions.length),
    ...dimensions.map((length) => encodeFixed('u64', BigInt(length))),
    encodeId(type),
    encodeFixed('u64', BigInt(offset)),
  ]);
}

function encodeValue(value: EncodableValue): Buffer {
  if (value.type === 'string') return encodeText(value.value);
  if (value.type !== 'array') return encodeFixed(value.type, value.value);
  const elements = value.element === 'string' ? value.values.map(encodeText) : encodeAll(value.element, value.values);
  return Buffer.concat([
    encodeId(valueTypeId(value.element)),
    encodeFixed('u64', BigInt(value.values.length)),
    ...elements,
  ]);
}

function encodeAll(element: FixedType, values: readonly (number | bigint | boolean)[]): Buffer[] {
  return values.map((value) => encodeFixed(element, value));
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([encodeFixed('u64', BigInt(bytes.byteLength)), bytes]);
}

function encodeId(id: number): Buffer {
  return encodeFixed('u32', id);
}

function encodeFixed(type: FixedType, value: number | bigint | boolean): Buffer {
  const bytes = Buffer.alloc(fixedBytes[type]);
  switch (type) {
    case 'u8':
    case 'bool':
      bytes.writeUInt8(Number(value));
      break;
    case 'i8':
      bytes.writeInt8(Number(value));
      break;
    case 'u16':
      bytes.writeUInt16LE(Number(value));
      break;
    case 'i16':
      bytes.writeInt16LE(Number(value));
      break;
    case 'u32':
      bytes.writeUInt32LE(Number(value));
      break;
    case 'i32':
      bytes.writeInt32LE(Number(value));
      break;
    case 'f32':
      bytes.writeFloatLE(Number(value));
      break;
    case 'f64':
      bytes.writeDoubleLE(Number(value));
      break;
    case 'u64':
      bytes.writeBigUInt64LE(BigInt(value));
      break;
    case 'i64':
      bytes.writeBigInt64LE(BigInt(value));
      break;
  }
  return bytes;
}
