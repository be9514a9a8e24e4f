import { Empty } from '../controls/Empty.tsx';
import { useMember } from '../member/memberStore.ts';
import { Placement } from '../placement/Placement.tsx';
import { Page } from '../shell/Page.tsx';

/** What serves, and where. */
export function PoolPage() {
  const view = useMember(({ member }) => {
    if (member === null) return 'connecting';
    return member.pipelines.length === 0 ? 'idle' : 'serving';
  });
  return (
    <Page title="Pool">
      {view === 'serving' && <Placement />}
      {view === 'connecting' && <p className="quiet">Waiting for the member on this machine …</p>}
      {view === 'idle' && (
        <Empty icon="pool" title="No model is serving yet">
          <p>Serve a model on this machine and on its neighbours; its layers and a chat will appear here.</p>
          <p>
            To try it now with the small model that comes along, run <code>npm run demo</code> in the folder of Roomful.
          </p>
        </Empty>
      )}
    </Page>
  );
}
