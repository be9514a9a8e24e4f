/** `enum gguf_type` of gguf.h. */
export const valueTypes = [
  'u8',
  'i8',
  'u16',
  'i16',
  'u32',
  'i32',
  'f32',
  'bool',
  'string',
  'array',
  'u64',
  'i64',
  'f64',
] as const;

export type ValueType = (typeof valueTypes)[number];

/** A type whose values all have one size. */
export type FixedType = Exclude<ValueType, 'string' | 'array'>;

/** Bytes of one value. */
export const fixedBytes: Readonly<Record<FixedType, number>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  u64: 8,
  i64: 8,
  f64: 8,
};

/** The number in the file that stands for a type. */
export function valueTypeId(type: ValueType): number {
  return valueTypes.indexOf(type);
}

export type ScalarValue = number | bigint | boolean;

/** Reads one value of a fixed size; 64-bit integers come as bigint. */
export function decodeFixed(type: FixedType, view: DataView, at: number): ScalarValue {
  switch (type) {
    case 'u8':
      return view.getUint8(at);
    case 'i8':
      return view.getInt8(at);
    case 'u16':
      return view.getUint16(at, true);
    case 'i16':
      return view.getInt16(at, true);
    case 'u32':
      return view.getUint32(at, true);
    case 'i32':
      return view.getInt32(at, true);
    case 'f32':
      return view.getFloat32(at, true);
    case 'bool':
      return view.getUint8(at) !== 0;
    case 'u64':
      return view.getBigUint64(at, true);
    case 'i64':
      return view.getBigInt64(at, true);
    case 'f64':
      return view.getFloat64(at, true);
  }
}
