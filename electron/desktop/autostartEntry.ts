/**
 * A desktop entry for the autostart folder, after the specifications of freedesktop.org (Desktop Entry 1.5, Autostart 0.5).
 * `command` is the program with its arguments.
 */
export function autostartEntry(command: readonly string[]): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Roomful',
    'Comment=Every GPU in the room, one inference engine.',
    `Exec=${command.map(quoted).join(' ')}`,
    'Terminal=false',
    'X-GNOME-Autostart-enabled=true',
    '',
  ].join('\n');
}

/** As `Exec` wants it: quoted, a percent sign doubled, and every backslash escaped once more for the file itself. */
function quoted(argument: string): string {
  const inQuotes = argument.replace(/["`$\\]/g, '\\$&').replaceAll('%', '%%');
  return `"${inQuotes.replaceAll('\\', '\\\\')}"`;
}
