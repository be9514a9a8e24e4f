import { useState } from 'react';
import { chatModels } from '../chat/chatModels.ts';
import { CopyButton } from '../controls/CopyButton.tsx';
import { useMember } from '../member/memberStore.ts';
import { Page } from '../shell/Page.tsx';
import { Keys } from './Keys.tsx';
import { OtherMachines } from './OtherMachines.tsx';
import { RecentRequests } from './RecentRequests.tsx';
import { snippets } from './snippets.ts';
import { TryButton } from './TryButton.tsx';
import './Endpoint.css';

/** Where any OpenAI client reaches what serves, ready to copy. */
export function EndpointPage() {
  const address = useMember((store) => store.member?.endpoint ?? '');
  const model = useMember((store) => chatModels(store.member?.pipelines ?? [])[0] ?? '');
  const access = useMember((store) => store.endpoint);
  return (
    <Page title="Endpoint">
      <section className="card endpoint" aria-label="Address">
        <h2>Address</h2>
        <p>Any OpenAI client on this machine can use it. No key is needed here; where a client insists, any will do.</p>
        <div className="copy-row">
          <code>{address}</code>
          <CopyButton what="the address" text={address} />
        </div>
        <TryButton model={model} />
      </section>
      <Snippets address={address} model={model === '' ? 'MODEL' : model} />
      {access !== null && (
        <>
          <OtherMachines lan={access.lan} />
          <Keys keys={access.keys} />
          <RecentRequests requests={access.recent} />
        </>
      )}
    </Page>
  );
}

function Snippets({ address, model }: { address: string; model: string }) {
  const all = snippets(address, model);
  const [chosen, setChosen] = useState('curl');
  const shown = all.find(({ id }) => id === chosen) ?? all[0];
  return (
    <section className="card endpoint" aria-label="Ready to copy">
      <h2>Ready to copy</h2>
      <div className="row">
        {all.map(({ id, name }) => (
          <button
            key={id}
            type="button"
            className="quiet-button"
            aria-pressed={id === chosen}
            onClick={() => setChosen(id)}
          >
            {name}
          </button>
        ))}
      </div>
      {shown !== undefined && (
        <div className="snippet">
          <div className="snippet-head">
            <span>{shown.hint ?? shown.name}</span>
            <CopyButton
              what={shown.id === 'curl' ? 'the curl command' : `the text for ${shown.name}`}
              text={shown.text}
            />
          </div>
          <pre>{shown.text}</pre>
        </div>
      )}
    </section>
  );
}
