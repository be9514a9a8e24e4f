import type { PoolMemberDetail } from '../../electron/gateway/memberApi.ts';
import { ConfirmDialog } from '../controls/ConfirmDialog.tsx';
import { TextDialog } from '../controls/TextDialog.tsx';
import { callMember } from '../member/memberStore.ts';
import { InviteDialog } from './InviteDialog.tsx';

/** What is being asked about the pool. */
export type PoolDialog =
  | { kind: 'invite' }
  | { kind: 'join' }
  | { kind: 'create' }
  | { kind: 'leave'; pool: string }
  | { kind: 'rename'; name: string }
  | { kind: 'renamePool'; name: string }
  | { kind: 'promote'; member: PoolMemberDetail }
  | { kind: 'remove'; member: PoolMemberDetail };

/** The dialogs of the pool's page. */
export function PoolDialogs({ dialog, onClose }: { dialog: PoolDialog; onClose: () => void }) {
  switch (dialog.kind) {
    case 'invite':
      return <InviteDialog onClose={onClose} />;
    case 'create':
      return (
        <TextDialog
          title="Create a pool"
          label="Name of the pool"
          initial="Our room"
          action="Create"
          onSubmit={(name) => callMember('create', { name })}
          onClose={onClose}
        >
          This machine becomes its first member and its admin.
        </TextDialog>
      );
    case 'join':
      return (
        <TextDialog
          title="Join a pool"
          label="Invite token"
          initial=""
          action="Join"
          lines={4}
          onSubmit={(token) => callMember('join', { token })}
          onClose={onClose}
        >
          Somebody in the pool makes one with “Invite”. Members of a pool see each other's machines, and those that
          serve a model can read what is asked of it.
        </TextDialog>
      );
    case 'rename':
      return (
        <TextDialog
          title="Rename this machine"
          label="Name"
          initial={dialog.name}
          action="Rename"
          onSubmit={(name) => callMember('rename', { name })}
          onClose={onClose}
        />
      );
    case 'renamePool':
      return (
        <TextDialog
          title="Rename the pool"
          label="Name"
          initial={dialog.name}
          action="Rename"
          onSubmit={(name) => callMember('renamePool', { name })}
          onClose={onClose}
        />
      );
    case 'leave':
      return (
        <ConfirmDialog
          title={`Leave ${dialog.pool}?`}
          action="Leave"
          onConfirm={() => callMember('leave', {})}
          onClose={onClose}
        >
          This machine shares nothing with it any more. To come back it needs a new invite.
        </ConfirmDialog>
      );
    case 'promote':
      return (
        <ConfirmDialog
          title={`Make ${dialog.member.name} an admin?`}
          action="Make admin"
          onConfirm={() => callMember('promote', { member: dialog.member.id })}
          onClose={onClose}
        >
          It can invite and remove members then, this machine too. A pool with two admins survives the loss of one.
        </ConfirmDialog>
      );
    case 'remove':
      return (
        <ConfirmDialog
          title={`Remove ${dialog.member.name}?`}
          action="Remove"
          onConfirm={() => callMember('remove', { member: dialog.member.id })}
          onClose={onClose}
        >
          Its connections end at once, and models with layers on it stop. To come back it needs a new invite.
        </ConfirmDialog>
      );
  }
}
