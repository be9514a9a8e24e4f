/** Ends `npm test` with the line `N passed, N failed`; a failed lint or type check counts as one failure. */
export default class ClosingLineReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const count = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      const failedBefore = count.failed;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state in count) count[state] += 1;
      }
      // A file that did not load, or a hook that failed: no test of it has, but the file has.
      if (module.state() === 'failed' && count.failed === failedBefore) count.failed += 1;
    }
    count.failed += unhandledErrors.length + (process.env.ROOMFUL_CHECKS_FAILED ? 1 : 0);
    const skipped = count.skipped > 0 ? `${count.skipped} skipped\n` : '';
    process.on('exit', () => process.stdout.write(`${skipped}${count.passed} passed, ${count.failed} failed\n`));
  }
}
