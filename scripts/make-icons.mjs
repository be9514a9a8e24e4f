/**
 * Draws every icon of the app from resources/icons/icon.svg, with Chromium: `node scripts/make-icons.mjs`. To be run
 * after the SVG has changed; its output is committed. CHROMIUM names another browser than /usr/bin/chromium.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from '@playwright/test';
import { root } from './setup.mjs';

const folder = join(root, 'resources', 'icons');
const source = readFileSync(join(folder, 'icon.svg'), 'utf8');

const appSizes = [16, 24, 32, 48, 64, 128, 256, 512, 1024];
const icoSizes = [16, 24, 32, 48, 64, 128, 256];
// https://en.wikipedia.org/wiki/Apple_Icon_Image_format: type by pixels, those with PNG content.
const icnsTypes = { ic11: 32, ic12: 64, ic07: 128, ic08: 256, ic13: 256, ic09: 512, ic14: 512, ic10: 1024 };

/**
 * Trays have little room: the bands alone, and a mark in the corner for what is unusual. `Template` images are coloured by
 * macOS from their alpha, so that there shape and strength tell the states apart.
 */
const grey = '#bands rect { fill: #8b93a1 }';
const black = '#bands rect { fill: #000 }';
const trayIcons = {
  trayNoPool: { size: 24, style: '#bands rect { fill: none; stroke: #8b93a1; stroke-width: 34 }' },
  trayIdle: { size: 24, style: grey },
  trayServing: { size: 24, style: '' },
  trayWorking: { size: 24, style: '', mark: { shape: 'dots', colour: '#e0a030' } },
  trayProblem: { size: 24, style: grey, mark: { shape: 'disc', colour: '#d9483b' } },
  trayNoPoolTemplate: { size: 16, style: '#bands rect { fill: none; stroke: #000; stroke-width: 34; opacity: 0.6 }' },
  trayIdleTemplate: { size: 16, style: `${black} #bands rect { opacity: 0.45 }` },
  trayServingTemplate: { size: 16, style: black },
  trayWorkingTemplate: { size: 16, style: black, mark: { shape: 'dots', colour: '#000' } },
  trayProblemTemplate: {
    size: 16,
    style: `${black} #bands rect { opacity: 0.45 }`,
    mark: { shape: 'disc', colour: '#000' },
  },
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});
const page = await browser.newPage();

async function draw(svg, size, style = '') {
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(`<style>body { margin: 0 } svg { display: block; width: ${size}px } ${style}</style>${svg}`);
  return page.screenshot({ omitBackground: true });
}

const pngs = new Map();
for (const size of appSizes) {
  pngs.set(size, await draw(source, size));
  writeFileSync(join(folder, `${size}x${size}.png`), pngs.get(size));
}
writeFileSync(join(folder, 'icon.ico'), ico(icoSizes.map((size) => [size, pngs.get(size)])));
writeFileSync(join(folder, 'icon.icns'), icns(Object.entries(icnsTypes).map(([type, size]) => [type, pngs.get(size)])));

const trayBox = { x: 216, y: 216, size: 592 };
const bandsOnly = source.replace(
  'viewBox="0 0 1024 1024"',
  `viewBox="${trayBox.x} ${trayBox.y} ${trayBox.size} ${trayBox.size}"`,
);
for (const [name, { size, style, mark }] of Object.entries(trayIcons)) {
  for (const [suffix, scale] of [
    ['', 1],
    ['@2x', 2],
  ]) {
    const svg = mark === undefined ? bandsOnly : marked(bandsOnly, mark);
    const png = await draw(svg, size * scale, `#room { display: none } ${style}`);
    writeFileSync(join(folder, `${name}${suffix}.png`), png);
  }
}
await browser.close();

/** The lower right corner is cut out of the bands, and the mark put there. */
function marked(svg, { shape, colour }) {
  const radius = 150;
  const x = trayBox.x + trayBox.size - radius;
  const y = trayBox.y + trayBox.size - radius;
  const hole = `<mask id="hole"><rect x="0" y="0" width="1024" height="1024" fill="#fff"/><circle cx="${x}" cy="${y}" r="${radius + 40}" fill="#000"/></mask>`;
  const disc = `<circle cx="${x}" cy="${y}" r="${radius}" fill="${colour}"/>`;
  const dot = (dx) => `<circle cx="${x + dx}" cy="${y}" r="44" fill="${colour}"/>`;
  const drawn = shape === 'disc' ? disc : [-104, 0, 104].map(dot).join('');
  return svg
    .replace('<g id="bands"', `${hole}<g mask="url(#hole)"><g id="bands"`)
    .replace('</svg>', `</g>${drawn}</svg>`);
}

/** A Windows icon of PNG images: https://learn.microsoft.com/windows/win32/menurc/resource-file-formats. */
function ico(images) {
  const header = Buffer.alloc(6 + 16 * images.length);
  header.writeUInt16LE(1, 2); // type: icon
  header.writeUInt16LE(images.length, 4);
  let offset = header.length;
  for (const [index, [size, png]] of images.entries()) {
    const entry = 6 + 16 * index;
    header.writeUInt8(size % 256, entry); // 0 stands for 256
    header.writeUInt8(size % 256, entry + 1);
    header.writeUInt16LE(1, entry + 4); // colour planes
    header.writeUInt16LE(32, entry + 6); // bits per pixel
    header.writeUInt32LE(png.length, entry + 8);
    header.writeUInt32LE(offset, entry + 12);
    offset += png.length;
  }
  return Buffer.concat([header, ...images.map(([, png]) => png)]);
}

function icns(images) {
  const parts = images.map(([type, png]) => Buffer.concat([Buffer.from(type), uint32(png.length + 8), png]));
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from('icns'), uint32(body.length + 8), body]);
}

function uint32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
