const codes = ['LoadFailed', 'DecodeFailed', 'Cancelled', 'Unloaded', 'BadArgument', 'LibraryMissing'] as const;

/** The `code` of every error that the addon throws or rejects with. */
export type NativeErrorCode = (typeof codes)[number];

/** The code of an error of the addon, undefined for any other value. */
export function nativeErrorCode(error: unknown): NativeErrorCode | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return codes.find((code) => code === error.code);
}
