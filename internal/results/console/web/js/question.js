// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// One question and its answer.

import { ApiError, ask, every, literal } from './api.js';
import { most, pivot } from './counts.js';
import { age, count, folded, h } from './dom.js';
import { question as command } from './filters.js';
import { fleetRights } from './fleet.js';
import { copyable, heading, inScope, link, linked, resourceLink, table } from './pieces.js';
import { resultTable } from './results.js';
import { outcome, outcomes, passRate, severities, severityBadge, severityName } from './terms.js';

const fields = ['report.namespace', 'source', 'policy', 'rule', 'category', 'severity', 'result', 'subject.kind', 'subject.namespace', 'subject.name', 'message', 'day', 'report.kind', 'report.name'];
const aggregates = ['subjects', 'namespaces', 'policies', 'sources', 'oldest', 'newest'];
/** What columns can be made of, and in which order. */
const columnsOf = { result: outcomes, severity: severities };
/** The fields that the page of results can be filtered by, and the parameters of that. */
const parameters = { source: 'source', policy: 'policy', rule: 'rule', category: 'category', severity: 'severity', result: 'result', 'subject.kind': 'kind', 'subject.name': 'subject' };

/**
 * @typedef {Object} Question
 * @property {string} filter in CEL
 * @property {string[]} by
 * @property {string} columns the field whose values are columns, "" for none
 * @property {string[]} without values of that field which rows must not have
 * @property {string[]} number what is counted beside results
 * @property {string} having
 * @property {string} order
 * @property {string} sort orders single results by a field; "" counts them
 * @property {boolean} desc
 * @property {boolean} fleet asks about the results of all clusters
 */

/** @param {URLSearchParams} params @returns {Question} */
function questionOf(params) {
  const text = (name) => params.get(name) ?? '';
  const columns = Object.hasOwn(columnsOf, text('columns')) ? text('columns') : '';
  return {
    filter: text('filter'), by: params.getAll('by'), columns, without: params.getAll('without'), number: params.getAll('number'),
    having: text('having'), order: text('order'), sort: text('sort'), desc: params.has('desc'), fleet: params.has('fleet'),
  };
}

/** @param {import('./pieces.js').Context} context */
export async function question(page) {
  const { place: { params }, info } = page;
  const asked = questionOf(params);
  const scope = { ...page.scope, fleet: asked.fleet };
  const context = { ...page, scope };
  const parts = [heading(params.get('title') || 'Question', inScope(scope)), form(context, asked, asked.fleet || (await fleetRights()).ask)];
  const spec = specOf(asked, params);
  if (!asked.filter && !asked.by.length && !asked.sort && !params.has('title')) return parts; // Nothing is asked yet.
  try {
    parts.push(...await (asked.sort ? single(context, asked, spec) : groups(context, asked, spec)));
  } catch (error) {
    // All clusters have limits of their own, which are errors of another kind.
    if (!(error instanceof ApiError) || error.code !== 422 && !(asked.fleet && error.code === 400)) throw error;
    parts.push(h('p', { class: 'problem', role: 'alert' }, error.message));
  }
  parts.push(h('details', { class: 'as' }, h('summary', {}, 'The same with kubectl'), copyable('Copy as kubectl', command(info.kubectl, scope, spec))));
  return parts;
}

/** What the API is asked. */
function specOf(asked, params) {
  const { filter, by, columns, number, having, order, sort, desc } = asked;
  if (sort) return { filter, results: { orderBy: sort, descending: desc, limit: 100, continue: params.get('continue') ?? '' } };
  const groupBy = columns && !by.includes(columns) ? [...by, columns] : by;
  // Rows that are made of several groups have all of them only in the order of their fields.
  const orderBy = columns ? '' : order;
  return { filter, groupBy, aggregates: number, having, orderBy, descending: Boolean(orderBy) && desc, limit: most };
}

/** The answer that is single results. */
async function single(context, asked, spec) {
  const { results, next, more } = await ask(context.scope, spec, context.signal);
  const others = Object.fromEntries([...new Set(context.place.params.keys())].filter((name) => name !== 'continue').map((name) => [name, context.place.params.getAll(name)]));
  return [
    resultTable(context, results),
    more && !next && h('p', { class: 'more' }, `The first ${count(results.length)} only. Filter for fewer.`),
    next && h('nav', { class: 'pager', 'aria-label': 'Pages' }, h('a', { class: 'next', href: link(context, 'question', { ...others, continue: next }) }, 'Next page')),
  ];
}

/** The answer that is numbers. */
async function groups(context, asked, spec) {
  const answer = await ask(context.scope, spec, context.signal);
  // The parts of a resource are one cell, which leads to it.
  const whole = ['subject.kind', 'subject.namespace', 'subject.name'].every((name) => asked.by.includes(name));
  const fieldsOf = asked.by.filter((name) => !whole || name === 'subject.name' || !name.startsWith('subject.'));
  const byColumns = fieldsOf.map((name) => ({ title: whole && name === 'subject.name' ? 'Resource' : title(name), name: name.startsWith('subject') || name === 'policy', wide: name === 'message' }));
  const byCells = (by) => fieldsOf.map((name) => (whole && name === 'subject.name' ? resourceLink(context, by) : cell(context, name, by)));
  if (asked.columns) {
    const { values, rows } = columnsIn(asked, answer);
    const more = answer.more ? h('p', { class: 'note' }, `The first ${count(rows.length)} rows by name: there are more, which are not shown. Filter for fewer.`) : null;
    const share = values.includes('pass') && values.includes('fail');
    const columns = [...byColumns, ...values.map((value) => ({ title: value || 'none', number: true })), ...(share ? [{ title: 'Pass rate', number: true }] : [])];
    return [more, table('Answer', columns, rows.map(({ by, numbers: n }) => [
      ...byCells(by), ...values.map((value) => count(n.get(value) ?? 0)), ...(share ? [passRate(n.get('pass') ?? 0, n.get('fail') ?? 0)] : []),
    ]), { empty: 'No results.' })];
  }
  const more = answer.more ? h('p', { class: 'note' }, `The first ${count(answer.groups.length)} rows by ${asked.order ? title(asked.order).toLowerCase() : 'name'}: there are more.`) : null;
  const counted = answer.groups.some((group) => group.results !== 1) || !asked.by.length;
  const columns = [...byColumns, ...(counted ? [{ title: 'Results', number: true }] : []), ...asked.number.flatMap((name) => [{ title: title(name), number: true }, ...(name === 'clusters' ? [{ title: 'Their names' }] : [])])];
  return [more, table('Answer', columns, answer.groups.map((group) => [
    ...byCells(group.by), ...(counted ? [resultsLink(context, asked, group)] : []), ...asked.number.flatMap((name) => numberCells(name, group)),
  ]), { empty: 'No results.' })];
}

const title = (field) => {
  const last = field.startsWith('properties') ? field.slice('properties["'.length, -2) : field.replace('report.', 'report ').replace('subject.', '').replace('report namespace', 'namespace');
  return last.slice(0, 1).toUpperCase() + last.slice(1);
};

/** A number of a group, and what stands beside it. */
function numberCells(name, group) {
  if (name === 'oldest' || name === 'newest') return [age(group[name])];
  const number = group[name] ?? 0;
  if (name !== 'clusters') return [count(number)];
  const names = group.clusterNames ?? [];
  return [count(number), names.join(', ') + (number > names.length ? ` and ${count(number - names.length)} more` : '')];
}

/** A value of a group. */
function cell(context, name, by) {
  const value = by[name] ?? '';
  switch (name) {
    case 'result': return outcome(value);
    case 'severity': return severityBadge(value);
    case 'message': return folded(value || 'no message');
    case 'policy': return linked(!context.scope.fleet, link(context, 'policy', { policy: value, source: by.source }), value || 'no policy');
    case 'report.namespace': return value || 'cluster-scoped';
    default: return value || h('span', { class: 'muted' }, '\u2013');
  }
}

/** A number, which leads to its results where they can be filtered like that. */
function resultsLink(context, asked, { by, results }) {
  const text = count(results);
  const names = Object.keys(by);
  if (context.scope.fleet) {
    const filter = every([asked.filter && `(${asked.filter})`, ...names.map((name) => `${name} == ${literal(by[name])}`)]);
    const comparable = names.every((name) => name !== 'message' && name !== 'day');
    return linked(comparable, link(context, 'question', { title: Object.values(by).filter(Boolean).join(' \u00b7 '), fleet: '1', filter, sort: 'timestamp', desc: '1' }), text);
  }
  const texts = names.filter((name) => name !== 'report.namespace');
  if (!names.length || texts.some((name) => !parameters[name] || by[name] === '' && name !== 'severity')) return text;
  const params = { result: 'all', ...Object.fromEntries(texts.map((name) => [parameters[name], name === 'severity' ? severityName(by[name]) : by[name]])) };
  if ('report.namespace' in by) Object.assign(params, by['report.namespace'] ? { namespace: by['report.namespace'] } : { outside: '1' });
  return h('a', { href: link(context, 'results', params) }, text);
}

/** Rows whose columns are the values of a field, without those that have any of some values. */
function columnsIn({ by, columns, without }, answer) {
  const kept = pivot(answer, by, columns).filter(({ numbers: n }) => !without.some((value) => n.get(value)));
  const values = columnsOf[columns].filter((value) => !without.includes(value) && kept.some(({ numbers: n }) => n.has(value)));
  const first = (row) => values.map((value) => row.numbers.get(value) ?? 0);
  kept.sort((a, b) => first(a).map((n, i) => first(b)[i] - n).find(Boolean) ?? b.total - a.total);
  return { values, rows: kept };
}

/**
 * The question, to be changed.
 * @param {import('./pieces.js').Context} context
 * @param {Question} asked
 * @param {boolean} fleet it may be about all clusters
 */
function form(context, asked, fleet) {
  const [by, numbers] = fleet ? [['cluster', ...fields], ['clusters', ...aggregates]] : [fields, aggregates];
  const own = asked.by.filter((name) => !by.includes(name));
  const submit = (event) => {
    event.preventDefault();
    const data = new FormData(element);
    const values = (name) => data.getAll(name).map((value) => String(value).trim()).filter(Boolean);
    location.hash = link(context, 'question', {
      filter: values('filter'), by: [...values('by'), ...values('own')], columns: values('columns'), number: values('number'), having: values('having'),
      order: values('order'), sort: values('sort'), desc: data.has('desc') ? '1' : '', fleet: values('fleet'),
    });
  };
  const boxes = (name, all, chosen) => all.map((value) => h('label', { class: 'choice' }, h('input', { type: 'checkbox', name, value, checked: chosen.includes(value) }), title(value)));
  const choose = (name, label, options, chosen) => h('label', {}, label, h('select', { name }, options.map(([value, text]) => h('option', { value, selected: value === chosen }, text))));
  const text = (name, label, value, example) => h('label', {}, label, h('input', { name, value, placeholder: example, autocomplete: 'off', spellcheck: 'false' }));
  const orders = [...new Set([asked.order, 'results', ...asked.by, ...asked.number])].filter(Boolean);
  const element = /** @type {HTMLFormElement} */ (h('form', { class: 'filters question', 'aria-label': 'Question', onsubmit: submit },
    h('label', { class: 'whole' }, 'Which results, in CEL', h('input', {
      name: 'filter', value: asked.filter, placeholder: 'result == "fail" && severity in ["critical", "high"]', autocomplete: 'off', spellcheck: 'false', 'data-search': true,
    })),
    h('details', { class: 'texts', open: !asked.by.length && !asked.sort }, h('summary', {}, 'Group and sort'),
      h('fieldset', {}, h('legend', {}, 'Count by'), boxes('by', by.filter((name) => !name.includes('.')), asked.by)), h('fieldset', {}, h('legend', {}, 'of the resource'), boxes('by', by.filter((name) => name.startsWith('subject.')), asked.by)),
      h('fieldset', {}, h('legend', {}, 'of the report'), boxes('by', by.filter((name) => name.startsWith('report.')), asked.by)),
      h('fieldset', {}, h('legend', {}, 'Count also'), boxes('number', numbers, asked.number)),
      h('div', { class: 'fields' },
        text('own', 'Count by a property', own[0] ?? '', 'properties["score"]'),
        text('having', 'Only groups with', asked.having, 'subjects >= 2'),
        choose('columns', 'One column for each', [['', 'nothing'], ['result', 'result'], ['severity', 'severity']], asked.columns),
        choose('order', 'Order', [['', 'as counted by'], ...orders.map((name) => [name, title(name)])], asked.order),
        choose('sort', 'List single results, by', [['', 'none'], ['timestamp', 'time'], ['severity', 'severity'], ['policy', 'policy'], ['report.namespace', 'namespace'], ['subject.name', 'name']], asked.sort),
        h('label', { class: 'choice' }, h('input', { type: 'checkbox', name: 'desc', value: '1', checked: asked.desc }), 'Descending'))),
    h('p', { class: 'actions' }, h('button', {}, 'Ask'), fleet ? [' ', h('select', { name: 'fleet', 'aria-label': 'Of which clusters' },
      h('option', { value: '' }, 'of this cluster'), h('option', { value: '1', selected: asked.fleet }, 'of all clusters'))] : null)));
  return element;
}
