import { useCallback, useState } from 'react';
import { lineOf } from '../controls/lineOf.ts';
import { Segments } from '../controls/Segments.tsx';
import { saveFile } from '../controls/saveFile.ts';
import { TextDialog } from '../controls/TextDialog.tsx';
import { callMember, useMember } from '../member/memberStore.ts';
import { Page } from '../shell/Page.tsx';
import { chooseTheme, type Theme, themes, useTheme } from '../shell/theme.ts';
import { DesktopSection } from './DesktopSection.tsx';
import { LimitsSection } from './LimitsSection.tsx';
import { Setting } from './Setting.tsx';
import { SharingSection } from './SharingSection.tsx';
import './Settings.css';

type Asked = 'rename' | 'hub' | 'export';

const themeNames: Record<Theme, string> = { system: 'As the system', light: 'Light', dark: 'Dark' };

/** How this window looks, what this machine is called and shares, and the keys of the pool. */
export function SettingsPage() {
  const { theme } = useTheme();
  const pool = useMember((store) => store.pool);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [said, setSaid] = useState<{ problem: boolean; text: string } | null>(null);
  const onSectionProblem = useCallback((text: string) => setSaid({ problem: true, text }), []);
  const own = pool?.members.find(({ self }) => self);
  const paused = own?.paused.includes('owner') ?? false;
  const perform = (work: Promise<unknown>) => {
    setSaid(null);
    work.catch((cause: unknown) => setSaid({ problem: true, text: lineOf(cause) }));
  };
  return (
    <Page title="Settings">
      {said !== null && (
        <p className="notice" data-tone={said.problem ? 'problem' : undefined} role="status">
          {said.text}
        </p>
      )}
      <section className="card settings" aria-label="This window">
        <h2>This window</h2>
        <Segments
          label="Colours"
          value={theme}
          choices={themes.map((value) => ({ value, name: themeNames[value] }))}
          onChange={chooseTheme}
        />
      </section>
      <section className="card settings" aria-label="This machine">
        <h2>This machine</h2>
        <Setting title={own?.name ?? '…'} about="What the others in the pool see it as.">
          <button type="button" className="quiet-button" onClick={() => setAsked('rename')}>
            Rename
          </button>
        </Setting>
        <Setting
          title={paused ? 'Shares nothing now' : 'Shares its memory'}
          about="A pause holds until you end it, also after a restart."
        >
          <button
            type="button"
            className="quiet-button"
            onClick={() => perform(callMember(paused ? 'resume' : 'pause', {}))}
          >
            {paused ? 'Share again' : 'Pause'}
          </button>
        </Setting>
        <Setting
          title={own?.pinned ? 'Comes first as leader' : 'Leads when it is its turn'}
          about="A machine that is always on is a good leader. Who leads now goes on."
        >
          <button
            type="button"
            className="quiet-button"
            onClick={() => perform(callMember(own?.pinned ? 'unpin' : 'pin', {}))}
          >
            {own?.pinned ? 'Unpin' : 'Pin as leader'}
          </button>
        </Setting>
        <Setting
          title="Token of the hub"
          about="For models on Hugging Face that want one. It stays on this machine, in its secret store where there is one."
        >
          <div className="row">
            <button
              type="button"
              className="quiet-button"
              onClick={() =>
                perform(
                  callMember('setHubToken', { token: null }).then(() =>
                    setSaid({ problem: false, text: 'No token of the hub is kept now.' }),
                  ),
                )
              }
            >
              Forget it
            </button>
            <button type="button" className="quiet-button" onClick={() => setAsked('hub')}>
              Set the token
            </button>
          </div>
        </Setting>
      </section>
      <SharingSection onProblem={onSectionProblem} />
      <LimitsSection onProblem={onSectionProblem} />
      {window.roomful !== undefined && <DesktopSection onProblem={onSectionProblem} />}
      {own?.admin && pool?.status.pool !== null && (
        <section className="card settings" aria-label="The pool's key">
          <h2>The pool's key</h2>
          <Setting
            title="Keep a copy"
            about="Without an admin nobody can be invited or removed. The copy is encrypted with a passphrase of yours."
          >
            <button type="button" className="quiet-button" onClick={() => setAsked('export')}>
              Export
            </button>
          </Setting>
        </section>
      )}
      {asked === 'rename' && (
        <TextDialog
          title="Rename this machine"
          label="Name"
          initial={own?.name ?? ''}
          action="Rename"
          onSubmit={(name) => callMember('rename', { name })}
          onClose={() => setAsked(null)}
        />
      )}
      {asked === 'hub' && (
        <TextDialog
          title="Token of the hub"
          label="Token"
          initial=""
          action="Keep"
          secret
          onSubmit={async (token) => {
            const { place } = await callMember('setHubToken', { token });
            setSaid({ problem: false, text: `The token is kept in ${place}.` });
          }}
          onClose={() => setAsked(null)}
        />
      )}
      {asked === 'export' && (
        <TextDialog
          title="Export the pool's key"
          label="Passphrase"
          initial=""
          action="Export"
          secret
          repeat="The passphrase again"
          onSubmit={async (passphrase) => {
            const { text } = await callMember('exportAuthority', { passphrase });
            saveFile('pool-key.txt', text, 'text/plain');
          }}
          onClose={() => setAsked(null)}
        >
          Whoever has the file and the passphrase can let machines in. Keep them apart.
        </TextDialog>
      )}
    </Page>
  );
}
