import { CopyButton } from '../controls/CopyButton.tsx';
import { useMember } from '../member/memberStore.ts';
import { Page } from '../shell/Page.tsx';
import { curlSnippet } from './curlSnippet.ts';
import './Endpoint.css';

/** Where any OpenAI client reaches the model, ready to copy. */
export function EndpointPage() {
  const address = useMember((store) => store.member?.endpoint ?? '');
  return (
    <Page title="Endpoint">
      <section className="card endpoint" aria-label="Address">
        <p>Any OpenAI client on this machine can use it; any API key will do.</p>
        <div className="copy-row">
          <code>{address}</code>
          <CopyButton what="the address" text={address} />
        </div>
        <Snippet address={address} />
      </section>
    </Page>
  );
}

function Snippet({ address }: { address: string }) {
  const model = useMember((store) => store.member?.pipelines.find(({ state }) => state === 'serving')?.modelId ?? '');
  const curl = curlSnippet(address, model);
  return (
    <div className="snippet">
      <div className="snippet-head">
        <span>curl</span>
        <CopyButton what="the curl command" text={curl} />
      </div>
      <pre>{curl}</pre>
    </div>
  );
}
