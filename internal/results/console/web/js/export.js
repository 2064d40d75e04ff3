// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Saves results to a file.

import { count, h } from './dom.js';

/** The most results of a file: they are in the memory of the browser. */
const most = 100_000;
const pageSize = 1000;

/** The columns of a file, which are those of `docket results list -o csv`. */
const columns = {
  cluster: (r) => r.cluster, namespace: (r) => r.metadata.namespace, report_kind: (r) => r.report.kind, report: (r) => r.report.name,
  source: (r) => r.source, policy: (r) => r.policy, rule: (r) => r.rule, category: (r) => r.category, severity: (r) => r.severity, result: (r) => r.result,
  subject_api_version: (r) => r.subject?.apiVersion, subject_kind: (r) => r.subject?.kind, subject_namespace: (r) => r.subject?.namespace,
  subject_name: (r) => r.subject?.name, subject_uid: (r) => r.subject?.uid, message: (r) => r.message, timestamp: (r) => r.timestamp,
};

/**
 * A cell that spreadsheets take for text: what begins like a formula gets an apostrophe, as in `docket results`.
 * @param {string} cell
 */
const inert = (cell) => (/^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell);

/**
 * @param {any[]} items
 * @returns {string} RFC 4180
 */
export function csv(items) {
  const field = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const rows = [Object.keys(columns), ...items.map((r) => Object.values(columns).map((of) => inert(of(r) ?? '')))];
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

const formats = {
  CSV: { name: 'results.csv', type: 'text/csv', text: csv },
  JSON: { name: 'results.json', type: 'application/json', text: (items) => JSON.stringify(items, null, 2) },
};

/**
 * Buttons that save all results of which a page shows some.
 * @param {number} total how many there are, about
 * @param {(at: import('./lists.js').At, size: number) => Promise<import('./lists.js').Page>} read reads a page of them
 */
export function exporter(total, read) {
  const said = h('span', { class: 'muted', role: 'status' });
  const save = async ({ name, type, text }, button) => {
    button.disabled = true;
    try {
      const { items, all } = await collect(read, (n) => said.replaceChildren(`${count(n)} of ${count(Math.max(n, total))}`));
      const address = URL.createObjectURL(new Blob([text(items)], { type }));
      h('a', { href: address, download: name }).click();
      URL.revokeObjectURL(address);
      said.replaceChildren(all ? `${count(items.length)} results are saved.` : `Only the first ${count(items.length)} are saved. Filter for fewer, or use docket results list.`);
    } catch (error) {
      said.replaceChildren(`Nothing was saved: ${error.message}`);
    }
    button.disabled = false;
  };
  return h('p', { class: 'export' }, Object.entries(formats).map(([name, format]) => [h('button', { type: 'button', onclick: ({ currentTarget }) => save(format, currentTarget) }, `Export as ${name}`), ' ']), said);
}

async function collect(read, progress) {
  const items = [];
  for (let at = { from: null, continue: '' }; at && items.length < most;) {
    const page = await read(at, pageSize);
    items.push(...page.items);
    progress(items.length);
    if (!page.next) return { items, all: true };
    at = page.next;
  }
  return { items, all: false };
}
