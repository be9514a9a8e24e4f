import { Command, CommanderError } from 'commander';
import { demoCommand } from './demo.ts';
import { endpointCommands } from './endpointCommands.ts';
import { libraryCommands } from './libraryCommands.ts';
import { planCommand } from './plan.ts';
import { poolCommands } from './poolCommands.ts';
import { roomfulVersion } from './roomfulVersion.ts';
import { serveCommands } from './serveCommands.ts';
import { upCommand } from './up.ts';

/** The `roomful` command. Errors are one line on stderr; the exit code is 0 only on success. */
export async function runCommand(): Promise<void> {
  process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
    // A command that has something to end listens by itself.
    if (process.stdout.listenerCount('error') > 1) return;
    // Whoever reads has seen enough, such as `head`.
    if (cause.code === 'EPIPE') process.exit();
    throw cause;
  });
  const program = new Command('roomful')
    .description('Every GPU in the room, one inference engine.')
    .version(`roomful ${roomfulVersion()}`, '--version', 'print the version')
    .addCommand(demoCommand())
    .addCommand(planCommand())
    .addCommand(upCommand());
  for (const command of [...poolCommands(), ...serveCommands(), ...libraryCommands(), ...endpointCommands()]) {
    program.addCommand(command);
  }
  for (const command of [program, ...program.commands.flatMap((one) => [one, ...one.commands])]) {
    command.exitOverride().configureOutput({ outputError: () => {} });
  }
  try {
    await program.parseAsync();
  } catch (cause) {
    if (cause instanceof CommanderError && cause.exitCode === 0) return;
    process.exitCode = 1;
    // Without a command the help has been printed, and says all.
    if (cause instanceof CommanderError && cause.code === 'commander.help') return;
    const causes: unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
    for (const each of causes) process.stderr.write(`roomful: ${plainLine(each)}\n`);
  }
}

function plainLine(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
}
