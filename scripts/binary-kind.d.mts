export function binaryKind(bytes: Buffer): { platform: string; arch: string } | null;
