import { useEffect, useState } from 'react';
import type { MethodResult } from '../../electron/gateway/memberApi.ts';
import { CopyButton } from '../controls/CopyButton.tsx';
import { Dialog } from '../controls/Dialog.tsx';
import { lineOf } from '../controls/lineOf.ts';
import { callMember } from '../member/memberStore.ts';

/** Makes an invite and shows its token, ready to copy. */
export function InviteDialog({ onClose }: { onClose: () => void }) {
  const [invite, setInvite] = useState<MethodResult<'invite'> | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  // Each token is a secret that lets a machine in: none is made that nobody sees.
  useEffect(() => {
    let shown = true;
    callMember('invite', {}).then(
      (made) => shown && setInvite(made),
      (cause: unknown) => shown && setProblem(lineOf(cause)),
    );
    return () => {
      shown = false;
    };
  }, []);
  return (
    <Dialog title="Invite a machine" onClose={onClose}>
      <p className="quiet">
        Open Roomful on the other machine, choose “Join with a token” and paste this, or open the link there. It lets
        one machine in, once.
      </p>
      {problem === null ? (
        <div className="copy-row token">
          <code>{invite?.token ?? 'Making a token …'}</code>
          {invite !== null && <CopyButton what="the token" text={invite.token} />}
        </div>
      ) : (
        <p className="notice" data-tone="problem" role="alert">
          {problem}
        </p>
      )}
      {invite !== null && (
        <div className="copy-row">
          <div>
            <p className="small">The same as a link, which asks there to compare this fingerprint of the pool:</p>
            <p className="quiet small">{invite.fingerprint}</p>
          </div>
          <CopyButton what="the link" text={invite.link} />
        </div>
      )}
      <p className="quiet small">
        {invite === null
          ? ' '
          : `Works until ${new Date(invite.expiresAtMs).toLocaleTimeString([], { timeStyle: 'short' })}.`}
      </p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
