import type { BeforePackContext } from 'electron-builder';

export default function beforePack(context: Pick<BeforePackContext, 'electronPlatformName' | 'arch'>): void;

export function checkPacked(folder: string, platform: string, arch: string): void;
