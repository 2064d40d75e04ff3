// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Parts that several pages have.

import { address, scopeParams } from './router.js';
import { count, h } from './dom.js';
import { outcome, outcomes, worse } from './terms.js';

/**
 * @typedef {Object} Context of a page
 * @property {import('./router.js').Place} place
 * @property {import('./router.js').Scope} scope
 * @property {AbortSignal} signal ends when the person goes elsewhere
 * @property {{cluster: string, context?: string, namespace?: string, kubectl: string[], newLink?: string, kinds: {group: string, version: string, kind: string, resource: string}[]}} info
 * @property {() => void} show shows the page anew
 * @property {(error: any) => void} refuse shows what the error means instead of the page
 * @property {boolean} [patient] the page is read once more, behind the one that is shown
 */

/** How long a page waits for a part that it can be shown without, in milliseconds. */
const soon = 100;

/**
 * A part of a page that may take longer than the others: it is shown once it is there. Who may not read it may not read the page.
 * @param {Context} context
 * @param {() => Promise<any>} read
 */
export async function part(context, read) {
  const place = h('div', { class: 'part waiting' }, h('p', { class: 'nothing' }, 'Counting \u2026'));
  const show = (...nodes) => {
    place.replaceChildren(...nodes.flat(Infinity).filter(Boolean));
    place.classList.remove('waiting');
  };
  let late = false;
  const work = read().then(show).catch((error) => {
    if (!late) throw error;
    if (error.code === 401 || error.code === 403) context.refuse(error);
    else show(h('p', { class: 'nothing' }, error.message));
  });
  const pause = new Promise((resolve) => setTimeout(resolve, soon)).then(() => { late = true; });
  await (context.patient ? work : Promise.race([work, pause]));
  return place;
}

/**
 * The address of a page in the same scope.
 * @param {Context} context
 * @param {string} page
 * @param {Record<string, string|string[]|undefined>} params
 */
export const link = (context, page, params = {}) => address(page, { ...scopeParams(context.scope), ...params });

/**
 * A scope at the end of a sentence.
 * @param {import('./router.js').Scope} scope
 */
export function inScope(scope) {
  const clusters = scope.fleet ? ' of all clusters' : '';
  if (scope.outside) return `in cluster-scoped reports${clusters}`;
  return (scope.namespace ? `in namespace ${scope.namespace}` : 'in all namespaces') + clusters;
}

/**
 * @param {string} title
 * @param {...any} more
 */
export const heading = (title, ...more) => h('div', { class: 'heading' }, h('h1', {}, title), h('p', { class: 'muted' }, more));

/**
 * A table. On narrow screens rows become blocks with the columns' names, hence the roles.
 * @param {string} caption
 * @param {{title: string, number?: boolean, wide?: boolean, rest?: boolean, name?: boolean, href?: string, sorted?: string|false}[]} columns href: where the rows are sorted by it
 * @param {any[][]} rows cells of each
 * @param {{empty?: string, class?: string}} [options]
 */
export function table(caption, columns, rows, options = {}) {
  if (!rows.length) return h('p', { class: 'nothing' }, options.empty ?? 'Nothing here.');
  const classOf = (column) => [column.number && 'number', column.wide && 'wide', column.rest && 'rest', column.name && 'name'].filter(Boolean).join(' ') || null;
  const head = columns.map((c) => h('th', { scope: 'col', role: 'columnheader', class: classOf(c), 'data-title': c.title, 'aria-sort': c.sorted || null }, c.href ? h('a', { href: c.href }, c.title) : c.title));
  const body = rows.map((cells) => h('tr', { role: 'row' }, cells.map((cell, i) => {
    const properties = { class: classOf(columns[i]), 'data-title': columns[i].title };
    return i === 0 ? h('th', { scope: 'row', role: 'rowheader', ...properties }, cell) : h('td', { role: 'cell', ...properties }, cell);
  })));
  const numeric = columns.some((c) => c.number) && !columns.some((c) => c.wide);
  // Numbers stay a table on narrow screens: the keyboard has to reach what scrolls.
  return h('div', { class: 'scroll', ...(numeric ? { tabindex: '0', role: 'group', 'aria-label': caption } : {}) }, h('table', { role: 'table', class: options.class ?? (numeric ? 'numeric' : null) },
    h('caption', { class: 'unseen' }, caption),
    h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, head)), h('tbody', { role: 'rowgroup' }, body)));
}

/**
 * Bars of numbers, the largest at full width. Each is a link.
 * @param {string} title
 * @param {{label: any, value: number, href: string, kind?: string}[]} items
 * @param {{more?: any, empty?: string}} [options]
 */
export function bars(title, items, options = {}) {
  const most = Math.max(1, ...items.map((i) => i.value));
  const rows = items.map((item) => {
    const fill = h('span', { class: `fill ${item.kind ?? ''}` });
    fill.style.width = `${Math.max(item.value ? 1 : 0, (100 * item.value) / most)}%`;
    return h('li', {}, h('a', { href: item.href, class: 'bar' },
      h('span', { class: 'label' }, item.label), h('span', { class: 'track', 'aria-hidden': 'true' }, fill), h('span', { class: 'number' }, count(item.value))));
  });
  return h('section', { class: 'card' }, h('h2', {}, title),
    rows.length ? h('ol', { class: 'bars' }, rows) : h('p', { class: 'nothing' }, options.empty ?? 'No failures.'), options.more ? h('p', { class: 'more' }, options.more) : null);
}

/**
 * A text that leads somewhere, if it does. Pages are about the cluster of the console: results of others have none.
 * @param {boolean|undefined} leads
 * @param {string} href
 * @param {string} text
 */
export const linked = (leads, href, text) => (leads ? h('a', { href }, text) : h('span', {}, text));

/**
 * What a result is about: its name, which leads to its page, and its kind and namespace.
 * @param {any} result
 * @param {boolean} leads
 */
export function subjectCell({ subject, metadata }, leads) {
  const where = metadata.namespace ?? 'cluster-scoped';
  if (!subject?.kind && !subject?.name) return [h('span', { class: 'muted' }, 'no resource'), h('small', {}, where)];
  const scope = metadata.namespace ? { namespace: metadata.namespace } : { outside: '1' };
  return [
    linked(leads, address('resource', { ...scope, kind: subject.kind, name: subject.name }), subject.name || 'no name'),
    h('small', {}, [subject.kind, where].filter(Boolean).join(' \u00b7 ')),
  ];
}

/**
 * A resource that groups of results are about.
 * @param {Context} context
 * @param {Record<string, string>} by fields of the subject
 */
export function resourceLink(context, by) {
  const [kind, namespace, name] = ['subject.kind', 'subject.namespace', 'subject.name'].map((field) => by[field] ?? '');
  if (!name) return h('span', { class: 'muted' }, kind || 'no resource');
  const scope = namespace || context.scope.outside ? { namespace, outside: !namespace } : context.scope;
  return [linked(!context.scope.fleet, link({ ...context, scope }, 'resource', { kind, name }), name), h('small', {}, [kind, namespace].filter(Boolean).join(' \u00b7 '))];
}

/**
 * The report that has a result, which leads to its page.
 * @param {any} result
 * @param {boolean} leads
 */
export function reportLink(result, leads) {
  const owner = result.metadata.ownerReferences?.[0];
  const href = address('report', { namespace: result.metadata.namespace, kind: result.report.kind, name: result.report.name, version: owner?.apiVersion });
  return linked(leads, href, `${result.report.kind}/${result.report.name}`);
}

/**
 * The parameters of an address but for those of later pages, and with others instead of some.
 * @param {import('./router.js').Place} place
 * @param {Record<string, string|string[]>} others
 */
export function withParams(place, others) {
  const kept = [...new Set(place.params.keys())].filter((name) => !['page', 'from', 'continue'].includes(name));
  return { ...Object.fromEntries(kept.map((name) => [name, place.params.getAll(name)])), ...others };
}

/**
 * The addresses of the next page and the first.
 * @param {Context} context
 * @param {string} page that has pages
 * @param {number} number of this one
 * @param {import('./lists.js').At|null} next
 */
export function pager(context, page, number, next) {
  if (number === 1 && !next) return null;
  const at = (more) => link(context, page, withParams(context.place, more));
  return h('nav', { class: 'pager', 'aria-label': 'Pages of the table' },
    number > 1 ? h('a', { href: at({}) }, 'First page') : null,
    h('span', { class: 'muted' }, `Page ${number}`),
    next ? h('a', { class: 'next', href: at({ from: next.from ?? '', continue: next.continue, page: String(number + 1) }) }, 'Next page') : null);
}

/**
 * A button that copies a text, which is shown, too.
 * @param {string} label
 * @param {string} text
 */
export function copyable(label, text) {
  const button = h('button', {
    type: 'button', onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Select the text and copy it';
      }
    },
  }, label);
  return h('div', { class: 'copy' }, h('code', { tabindex: '0' }, text), button);
}

/** A share that is 0 or 100 only where it is exactly that. */
function percent(part, all) {
  const rounded = Math.round((100 * part) / Math.max(all, 1));
  if (part && !rounded) return 'less than 1%';
  return part < all && rounded === 100 ? 'more than 99%' : `${rounded}%`;
}

/**
 * The numbers of each outcome, of groups that may be more than that.
 * @param {{by: Record<string, string>, results: number}[]} groups
 * @param {(result: string) => string} address
 */
export function tiles(groups, address) {
  const numbers = new Map(outcomes.map((name) => [name, 0]));
  for (const { by, results } of groups) numbers.set(by.result, (numbers.get(by.result) ?? 0) + results);
  const all = groups.reduce((sum, { results }) => sum + results, 0);
  return h('ul', { class: 'tiles' }, [...numbers].sort(([a], [b]) => worse({ result: a }, { result: b })).map(([result, n]) => h('li', {}, h('a', { href: address(result) },
    outcome(result), h('strong', {}, count(n)), h('small', {}, `${percent(n, all)} of ${count(all)}`)))));
}
