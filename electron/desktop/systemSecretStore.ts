import { safeStorage } from 'electron';
import { fileSecretStore, type SecretStore } from '../library/secretStore.ts';

/**
 * Secrets sealed by the system's own store (Keychain, DPAPI, libsecret, KWallet); plain files for their owner alone where the
 * system has none. Only once the app is ready.
 */
export function systemSecretStore(home: string): SecretStore {
  const plain = fileSecretStore(home);
  if (!safeStorage.isEncryptionAvailable() || isPlainText()) return plain;
  const sealedName = (name: string): string => `${name}.sealed`;
  return {
    place: "the system's secret store",
    async read(name) {
      const sealed = await plain.read(sealedName(name));
      // Of a run without the system's store.
      if (sealed === null) return plain.read(name);
      try {
        return safeStorage.decryptString(Buffer.from(sealed, 'base64'));
      } catch {
        // Sealed by another user or system: as good as not there.
        return null;
      }
    },
    async write(name, secret) {
      await plain.write(name, null);
      const sealed = secret === null ? null : safeStorage.encryptString(secret).toString('base64');
      await plain.write(sealedName(name), sealed);
    },
  };
}

/** On Linux without a keyring Electron seals with a key that everyone knows. */
function isPlainText(): boolean {
  return process.platform === 'linux' && safeStorage.getSelectedStorageBackend() === 'basic_text';
}
