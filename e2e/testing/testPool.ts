import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportPrivateKey, openIdentity } from '../../electron/pool/identity.ts';
import { openPoolAuthority } from '../../electron/pool/poolAuthority.ts';
import type { TlsMaterial } from '../../electron/wire/tlsMaterial.ts';

export interface TestMember {
  id: string;
  tls: TlsMaterial;
  home: string;
}

/** A real pool in a temporary folder: a CA, and as many members as a test asks for. */
export class TestPool {
  readonly home: string;
  #count = 0;

  private constructor(home: string) {
    this.home = home;
  }

  static async create(): Promise<TestPool> {
    return new TestPool(await mkdtemp(join(tmpdir(), 'roomful-pool-')));
  }

  async member(): Promise<TestMember> {
    this.#count += 1;
    const home = join(this.home, `member-${this.#count}`);
    const identity = await openIdentity(home);
    const authority = await openPoolAuthority(this.home);
    const cert = await authority.issueCertificate(identity.publicKey);
    return {
      id: identity.id,
      home,
      tls: { ca: authority.certificate, cert, key: exportPrivateKey(identity.privateKey) },
    };
  }

  async remove(): Promise<void> {
    await rm(this.home, { recursive: true, force: true });
  }
}
