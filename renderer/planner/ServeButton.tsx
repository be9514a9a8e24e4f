import { lineOf } from '../controls/lineOf.ts';
import { callMember, useMember } from '../member/memberStore.ts';
import { goTo } from '../shell/route.ts';
import { usePlayground } from './playgroundStore.ts';
import { serveParams } from './scenario/serveParams.ts';

const nobody: never[] = [];

/** Serves what is planned, on the members that are seen, and shows how it comes up. */
export function ServeButton() {
  const pool = useMember((store) => store.pool?.members) ?? nobody;
  const reason = usePlayground(({ history }) => {
    const served = serveParams(history.present.question, pool);
    return 'reason' in served ? served.reason : null;
  });
  const serve = () => {
    const served = serveParams(usePlayground.getState().history.present.question, pool);
    usePlayground.setState({ problem: 'reason' in served ? served.reason : null });
    if ('reason' in served) return;
    // The pool's page tells how it goes; here it is said why it could not begin.
    callMember('serve', served.params).catch((cause: unknown) => usePlayground.setState({ problem: lineOf(cause) }));
    goTo('pool');
  };
  return (
    <button
      type="button"
      className="button"
      // Not `disabled`: the keyboard must reach it to learn why.
      aria-disabled={reason !== null}
      title={reason ?? 'Serve it on these members'}
      onClick={serve}
    >
      Serve
    </button>
  );
}
