import { useRef, useState } from 'react';
import type { ApiKey } from '../../electron/gateway/memberApi.ts';
import { ConfirmDialog } from '../controls/ConfirmDialog.tsx';
import { CopyButton } from '../controls/CopyButton.tsx';
import { Dialog } from '../controls/Dialog.tsx';
import { TextDialog } from '../controls/TextDialog.tsx';
import { callMember } from '../member/memberStore.ts';

type Asked = { kind: 'add' } | { kind: 'shown'; name: string; key: string } | { kind: 'revoke'; key: ApiKey };

/** The keys for other machines: made, shown once, and revoked. */
export function Keys({ keys }: { keys: readonly ApiKey[] }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const close = () => setAsked(null);
  return (
    <section className="card endpoint" aria-label="Keys">
      <div className="row endpoint-head">
        <h2>Keys</h2>
        <button type="button" className="quiet-button" onClick={() => setAsked({ kind: 'add' })}>
          Make a key
        </button>
      </div>
      {keys.length === 0 ? (
        <p>None yet. A key lets programs on other machines in; on this machine none is needed.</p>
      ) : (
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Ends with</th>
              <th scope="col">Last used</th>
              <th scope="col">Requests</th>
              <th scope="col">Tokens in, out</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {keys.map((key) => (
              <tr key={key.id}>
                <td title={key.name}>{key.name}</td>
                <td>
                  <code>…{key.hint}</code>
                </td>
                <td>{key.lastUsedMs === null ? 'never' : new Date(key.lastUsedMs).toLocaleString()}</td>
                <td>{key.requests.toLocaleString()}</td>
                <td>
                  {key.promptTokens.toLocaleString()}, {key.completionTokens.toLocaleString()}
                </td>
                <td>
                  <button
                    type="button"
                    className="quiet-button danger"
                    aria-label={`Revoke ${key.name}`}
                    onClick={() => setAsked({ kind: 'revoke', key })}
                  >
                    Revoke
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {asked?.kind === 'add' && <AddKey onMade={(made) => setAsked({ kind: 'shown', ...made })} onClose={close} />}
      {asked?.kind === 'shown' && (
        <Dialog title={`The key of ${asked.name}`} onClose={close}>
          <p className="quiet">Copy it now: it is kept as a hash and not shown again.</p>
          <div className="copy-row token">
            <code>{asked.key}</code>
            <CopyButton what="the key" text={asked.key} />
          </div>
          <div className="dialog-actions">
            <button type="button" className="button" onClick={close}>
              Done
            </button>
          </div>
        </Dialog>
      )}
      {asked?.kind === 'revoke' && (
        <ConfirmDialog
          title={`Revoke ${asked.key.name}?`}
          action={`Revoke ${asked.key.name}`}
          onConfirm={() => callMember('revokeApiKey', { key: asked.key.id })}
          onClose={close}
        >
          <p>Programs that use it are refused from now on. This cannot be undone.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}

function AddKey({ onMade, onClose }: { onMade: (made: { name: string; key: string }) => void; onClose: () => void }) {
  // Not a state: the dialog closes with the handler that it was submitted with.
  const made = useRef<{ name: string; key: string } | null>(null);
  return (
    <TextDialog
      title="Make a key"
      label="What it is for"
      initial=""
      action="Make it"
      onSubmit={async (name) => {
        made.current = await callMember('addApiKey', { name });
      }}
      onClose={() => (made.current === null ? onClose() : onMade(made.current))}
    >
      <p>For a program or a person, so that you know later which one to revoke.</p>
    </TextDialog>
  );
}
