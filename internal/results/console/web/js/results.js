// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// One table of results, the worst first, in pages, filtered by every column.

import { ask, every, literal } from './api.js';
import { age, count, folded, h } from './dom.js';
import { exporter } from './export.js';
import { command, expression, filtersOf, sql, texts } from './filters.js';
import { pageOf } from './lists.js';
import { unknownTexts } from './missing.js';
import { copyable, heading, link, linked, pager, reportLink, inScope, subjectCell, table, withParams } from './pieces.js';
import { outcome, outcomes, severities, severityBadge, severityName } from './terms.js';

const pageSize = 100;

/** @param {import('./pieces.js').Context} context */
export async function results(context) {
  const { scope, signal, place } = context;
  const filters = filtersOf(place.params);
  const { groups, more } = await ask(scope, { filter: expression(filters), groupBy: ['result', 'severity'], limit: 1000 }, signal);
  const total = groups.reduce((sum, g) => sum + g.results, 0);
  const read = (at, size) => pageOf(context, filters, groups.map((g) => g.by), at, size);
  const page = await read({ from: place.params.get('from'), continue: place.params.get('continue') ?? '' }, pageSize);
  const number = Number(place.params.get('page')) || 1;
  const first = (number - 1) * pageSize;
  const shown = page.items.length ? `${count(first + 1)}\u2013${count(first + page.items.length)} of ` : '';
  const order = { 'subject.name': 'name', timestamp: 'age' }[filters.sort] ?? filters.sort;
  const worst = filters.sort ? [`, sorted by ${order} \u00b7 `, h('a', { href: link(context, 'results', withParams(place, { sort: '', desc: '' })) }, 'worst first')] : ', the worst first';
  return [
    heading('Results', `${shown}${count(total)}${more ? ' or more' : ''} ${inScope(scope)}`, worst),
    form(context, filters),
    ...(total ? [] : await unknownTexts(context, filters, (params) => link(context, 'results', withParams(place, params)))),
    resultTable(context, page.items, { sorted: filters, sortBy: (field) => link(context, 'results', withParams(place, { sort: field, desc: descends(filters, field) ? '1' : '' })) }),
    pager(context, 'results', number, page.next),
    total ? exporter(total, read) : null,
    h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl or SQL'),
      copyable('Copy as kubectl', command(context.info.kubectl, scope, filters)), copyable('Copy as SQL', sql(scope, filters, page.items[0]?.cluster))),
  ];
}

/** Whether the next click on a column sorts it downwards: ages are sorted by their time, the newest first. */
const descends = (filters, field) => (filters.sort === field ? !filters.desc : field === 'timestamp');

/**
 * @param {import('./pieces.js').Context} context
 * @param {any[]} items
 * @param {Object} [options]
 * @param {string} [options.caption]
 * @param {string} [options.empty]
 * @param {boolean} [options.one] all are of one source and about one resource
 * @param {{sort: string, desc: boolean}} [options.sorted]
 * @param {(field: string) => string} [options.sortBy] the address where they are sorted by a field
 */
export function resultTable(context, items, { caption = 'Results', empty = 'No results match.', one = false, sorted, sortBy } = {}) {
  const leads = !context.scope.fleet;
  const columns = [
    { title: 'Cluster', of: (r) => r.cluster, left: leads },
    { title: 'Result', sort: 'result', of: (r) => outcome(r.result) }, { title: 'Severity', sort: 'severity', of: (r) => severityBadge(r.severity ?? '') },
    { title: 'Resource', sort: 'subject.name', name: true, of: (r) => subjectCell(r, leads), left: one },
    { title: 'Policy and rule', sort: 'policy', name: true, of: (r) => [linked(leads, link(context, 'policy', { policy: r.policy, source: r.source }), r.policy || 'no policy'), r.rule ? h('small', {}, r.rule) : null, r.others?.length ? h('small', {}, `and ${count(r.others.length)} more of this rule`) : null] },
    { title: 'Message', wide: true, of: (r) => folded(r.message ?? '', facts(r, leads)) },
    { title: 'Source', sort: 'source', of: (r) => r.source ?? '', left: one }, { title: 'Age', sort: 'timestamp', number: true, of: (r) => age(r.timestamp) },
  ].filter((column) => !column.left).map((column) => ({
    ...column, href: column.sort && sortBy?.(column.sort), sorted: sorted && sorted.sort === column.sort && (sorted.desc ? 'descending' : 'ascending'),
  }));
  return table(caption, columns, items.map((r) => columns.map((column) => column.of(r))), { empty, class: 'results' });
}

/** What else a result says. */
function facts(r, leads) {
  return h('dl', {}, r.category ? [h('dt', {}, 'category'), h('dd', {}, r.category)] : null,
    Object.entries(r.properties ?? {}).map(([name, value]) => [h('dt', {}, name), h('dd', {}, folded(value))]),
    r.timestamp ? [h('dt', {}, 'found'), h('dd', {}, r.timestamp)] : null, h('dt', {}, 'report'), h('dd', {}, reportLink(r, leads)),
    (r.others ?? []).map((other) => [h('dt', {}, age(other.timestamp)), h('dd', {}, folded(other.message || 'no message'))]));
}

/**
 * The filters. They are in the address, hence each change goes to another one.
 * @param {import('./pieces.js').Context} context
 * @param {import('./filters.js').Filters} filters
 */
function form(context, filters) {
  const apply = () => {
    const data = new FormData(element);
    const chosen = data.getAll('result');
    const values = Object.fromEntries(texts.map(({ name }) => [name, String(data.get(name)).trim()]));
    location.hash = link(context, 'results', {
      ...values, message: String(data.get('message')), result: chosen.length ? chosen : 'all', severity: data.getAll('severity'), sort: filters.sort, desc: filters.desc ? '1' : '',
    });
  };
  const choice = (name, value, label, checked) => h('label', { class: 'choice' }, h('input', { type: 'checkbox', name, value, checked, onchange: apply }), label);
  const element = /** @type {HTMLFormElement} */ (h('form', {
    class: 'filters', role: 'search', 'aria-label': 'Filters', onsubmit: (event) => {
      event.preventDefault();
      apply();
    },
  },
  h('fieldset', {}, h('legend', {}, 'Result'), outcomes.map((name) => choice('result', name, name, filters.results.includes(name)))),
  h('fieldset', {}, h('legend', {}, 'Severity'), severities.map((name) => choice('severity', severityName(name), severityName(name), filters.severities.includes(name)))),
  h('details', { class: 'texts', open: matchMedia('(min-width: 48rem)').matches || Object.values(filters.texts).some(Boolean) || Boolean(filters.message) }, h('summary', {}, 'More filters'),
    h('div', { class: 'fields' }, texts.map((text) => textFilter(context, filters, text, apply)),
      h('label', {}, 'Message contains', h('input', { name: 'message', value: filters.message, autocomplete: 'off', spellcheck: 'false', onchange: apply })),
      h('p', { class: 'actions' }, h('button', {}, 'Filter'), ' ', h('a', { href: link(context, 'results') }, 'Clear'))))));
  return element;
}

/** A field of text, which offers the values that there are once somebody goes to it. */
function textFilter(context, filters, { name, label, field }, apply) {
  const id = `values-of-${name}`;
  const list = h('datalist', { id });
  const others = { ...filters, texts: { ...filters.texts, [name]: '' } };
  const offer = async () => {
    try {
      const { groups } = await ask(context.scope, { filter: every([expression(others), `${field} != ${literal('')}`]), groupBy: [field], orderBy: 'results', descending: true, limit: 200 }, context.signal);
      list.replaceChildren(...groups.map((g) => h('option', { value: g.by[field] })));
    } catch { /* One can type without them. */ }
  };
  let asked = false;
  return h('label', {}, label, h('input', {
    name, list: id, value: filters.texts[name], autocomplete: 'off', spellcheck: 'false', 'data-search': name === 'subject', onchange: apply,
    onfocus: () => {
      if (!asked) offer();
      asked = true;
    },
  }), list);
}
