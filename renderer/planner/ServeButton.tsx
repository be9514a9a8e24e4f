import { lineOf } from '../controls/lineOf.ts';
import { callMember } from '../member/memberStore.ts';
import { goTo } from '../shell/route.ts';
import { usePlayground } from './playgroundStore.ts';
import { serveParams } from './scenario/serveParams.ts';

/** Serves what is planned, on the members that are seen, and shows how it comes up. */
export function ServeButton() {
  const reason = usePlayground(({ history }) => {
    const served = serveParams(history.present.question);
    return 'reason' in served ? served.reason : null;
  });
  const serve = () => {
    const served = serveParams(usePlayground.getState().history.present.question);
    if ('reason' in served) return;
    usePlayground.setState({ problem: null });
    // The pool's page tells how it goes; here it is said why it could not begin.
    callMember('serve', served.params).catch((cause: unknown) => usePlayground.setState({ problem: lineOf(cause) }));
    goTo('pool');
  };
  return (
    <button
      type="button"
      className="button"
      disabled={reason !== null}
      title={reason ?? 'Serve it on these members'}
      onClick={serve}
    >
      Serve
    </button>
  );
}
