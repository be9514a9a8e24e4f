import { PoolError } from '../pool/poolError.ts';
import type { PoolMember } from '../pool/poolMember.ts';
import { inviteLink, parseInvite } from '../pool/trust/inviteToken.ts';
import { poolFingerprint } from '../pool/trust/poolFingerprint.ts';
import type { EndpointMethod } from './access/endpointActions.ts';
import type { ConversationMethod } from './conversations/conversationActions.ts';
import { type DoctorSources, doctorReport } from './doctorReport.ts';
import type { LibraryMethod } from './libraryActions.ts';
import type { DesktopMethod, PoolState, PoolStatus, ServingPipeline } from './memberApi.ts';
import type { ServingMethod } from './servingActions.ts';
import type { MemberActions } from './window/memberState.ts';

export interface PoolActionsOptions extends Omit<DoctorSources, 'pool' | 'status'> {
  pool: PoolMember;
  pipelines: () => ServingPipeline[];
}

/** What the contract's methods about the pool do. Each rejects with PoolError or a WireError. */
export function poolActions(
  options: PoolActionsOptions,
): Omit<
  MemberActions,
  'state' | ServingMethod | 'windowLink' | ConversationMethod | LibraryMethod | EndpointMethod | DesktopMethod
> {
  const { pool } = options;
  const status = async (): Promise<PoolStatus> => poolState(options).status;
  const after = async (work: Promise<unknown>): Promise<PoolStatus> => {
    await work;
    return status();
  };
  return {
    status,
    members: async () => pool.members(),
    create: ({ name }) => after(pool.create(name)),
    invite: async ({ ttlMs }) => {
      const made = await pool.trust.invite(ttlMs === undefined ? {} : { ttlMs });
      const fingerprint = poolFingerprint(parseInvite(made.token).pool);
      return { ...made, link: inviteLink(made.token), fingerprint };
    },
    withdrawInvite: async ({ invite }) => {
      await pool.trust.withdrawInvite(invite);
      return pool.trust.openInvites;
    },
    join: ({ token }) => after(pool.join(token)),
    leave: ({ abandon }) => after(pool.leave({ abandon: abandon ?? false })),
    remove: async ({ member }) => ({ removed: await pool.trust.remove(memberCalled(pool, member)) }),
    rename: ({ name }) => after(pool.rename(name)),
    renamePool: ({ name }) => after(pool.trust.renamePool(name)),
    pause: () => after(pool.pause(true)),
    resume: () => after(pool.pause(false)),
    sharing: async () => pool.sharing(),
    changeSharing: async ({ memoryBytes, battery, heat, gpu }) => {
      const { manners } = pool.sharing();
      await pool.changeSharing({
        ...(memoryBytes !== undefined && { memoryBytes }),
        manners: {
          battery: { ...manners.battery, pause: battery ?? manners.battery.pause },
          heat: { ...manners.heat, pause: heat ?? manners.heat.pause },
          gpu: { ...manners.gpu, pause: gpu ?? manners.gpu.pause },
        },
      });
      return pool.sharing();
    },
    pin: () => after(pool.pin(true)),
    unpin: () => after(pool.pin(false)),
    promote: async ({ member }) => after(pool.trust.promote(memberCalled(pool, member))),
    exportAuthority: async ({ passphrase }) => ({ text: await pool.trust.exportAuthority(passphrase) }),
    importAuthority: ({ text, passphrase }) => after(pool.importAuthority(text, passphrase)),
    doctor: async () => doctorReport({ ...options, status: await status() }),
  };
}

/** The pool as this member sees it now. */
export function poolState({ pool, pipelines }: Pick<PoolActionsOptions, 'pool' | 'pipelines'>): PoolState {
  const { trust } = pool;
  const members = pool.members();
  return {
    status: {
      self: trust.self,
      pool: trust.pool === null ? null : { id: trust.pool.id, name: trust.pool.name },
      coordinator: pool.coordinator(),
      epoch: pool.epoch(),
      members: members.map(
        ({ admin: _admin, leads: _leads, pinned: _pinned, paused: _paused, link: _link, ...member }) => member,
      ),
      pipelines: pipelines(),
    },
    members,
    removed: trust.removal === null ? null : { poolName: trust.removal.poolName, atMs: trust.removal.atMs },
    invites: trust.openInvites,
  };
}

const LEAST_PREFIX = 4;

/** The id of the member with this id, beginning of an id, or name. Throws PoolError('NotInPool', 'UnknownMember'). */
function memberCalled(pool: PoolMember, text: string): string {
  if (pool.trust.pool === null)
    throw new PoolError('NotInPool', 'This machine is in no pool. Create one, or join with an invite token.');
  const all = pool.members();
  const byId = all.filter(({ id }) => id === text || (text.length >= LEAST_PREFIX && id.startsWith(text)));
  const found = byId.length > 0 ? byId : all.filter(({ name }) => name === text);
  const [one, other] = found;
  if (one !== undefined && other === undefined) return one.id;
  throw new PoolError(
    'UnknownMember',
    one === undefined
      ? `No member of the pool is called ${text}. \`roomful members\` lists them.`
      : `Several members are called ${text}. Give the id instead; \`roomful members\` lists them.`,
  );
}
