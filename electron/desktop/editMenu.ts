import { Menu, type MenuItemConstructorOptions, type WebContents } from 'electron';

/** What the menu of a right click offers: what can be done to the text there, nothing where there is none. */
export function editItems(params: {
  isEditable: boolean;
  selectionText: string;
  editFlags: { canCut: boolean; canCopy: boolean; canPaste: boolean; canSelectAll: boolean };
}): MenuItemConstructorOptions[] {
  const { isEditable, selectionText, editFlags } = params;
  if (isEditable) {
    return [
      { role: 'cut', enabled: editFlags.canCut },
      { role: 'copy', enabled: editFlags.canCopy },
      { role: 'paste', enabled: editFlags.canPaste },
      { type: 'separator' },
      { role: 'selectAll', enabled: editFlags.canSelectAll },
    ];
  }
  return selectionText.trim() === '' ? [] : [{ role: 'copy' }];
}

/** Electron brings no menu for a right click: this one copies and pastes. */
export function offerEditMenu(contents: WebContents): void {
  contents.on('context-menu', (_event, params) => {
    const items = editItems(params);
    if (items.length > 0) Menu.buildFromTemplate(items).popup();
  });
}
