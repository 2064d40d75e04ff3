// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// operandCases are rules about a ConfigMap, with Kyverno 1.19.1's outcome, empty if it has none, and a part of the
// error message here. Those with a number were reported to Kyverno.
var operandCases = map[string]struct {
	data, rule, kyverno, unreadable string
}{
	"semver_compare of a tag, kyverno 17089": {
		"{v: latest}", denyIf(`{key: "{{ semver_compare('{{ request.object.data.v }}', '>=0.0.0') }}", operator: Equals, value: true}`), "fail", `"latest"`,
	},
	"semver_compare of two numbers, kyverno 17089": {
		`{v: "1.2"}`, denyIf(`{key: "{{ semver_compare('{{ request.object.data.v }}', '<1.0.0') }}", operator: Equals, value: true}`), "fail", `"1.2"`,
	},
	"value in a unit that is none, kyverno 11123": {
		"{v: 200Gi}", denyIf(`{key: "{{ request.object.data.v }}", operator: GreaterThan, value: 10GB}`), "pass", `"10GB"`,
	},
	"list under an order, kyverno/website 702": {
		"{v: 1Gi}", denyIf(`{key: "{{ request.object.data.* }}", operator: GreaterThan, value: 1Mi}`), "pass", `["1Gi"]`,
	},
	"number as a list, kyverno 9319": {
		`{v: "5"}`, denyIf(`{key: "{{ request.object.data.v }}", operator: AnyNotIn, value: 0}`), "pass", `"5" with 0`,
	},
	"duration in words": {
		`{v: 5 minutes}`, denyIf(`{key: "{{ request.object.data.v }}", operator: DurationGreaterThan, value: 1m}`), "pass", `"5 minutes"`,
	},
	"duration that no number holds": {
		`{v: "1"}`, denyIf("{key: 99999999999, operator: DurationGreaterThan, value: 1m}"), "fail", "99999999999",
	},
	"empty text under an order": {
		`{v: ""}`, denyIf(`{key: "{{ request.object.data.v }}", operator: LessThan, value: 2}`), "pass", `""`,
	},
	"mixed text": {
		"{v: latest}", denyIf(`{key: "v{{ request.object.data.v }}", operator: LessThan, value: 1.0.0}`), "pass", `"vlatest"`,
	},
	"versions that are decimals": {
		`{v: "1.9"}`, denyIf(`{key: "{{ request.object.data.v }}", operator: LessThan, value: 1.10.0}`), "pass", `"1.9"`,
	},
	"range of another unit": {
		"{v: 10GB}", denyIf(`{key: "{{ request.object.data.v }}", operator: AnyNotIn, value: 1Gi-5Gi}`), "fail", `"10GB"`,
	},
	"NotEquals of null": {
		"{v: a}", denyIf(`{key: "{{ request.object.data.none || null }}", operator: NotEquals, value: a}`), "pass", "null",
	},
	"pattern for a number that is a text": {
		`{v: "5"}`, denyIf(`{key: "{{ request.object.data.v }}", operator: NotEquals, value: "?*"}`), "fail", `"?*"`,
	},
	"member of a null": {
		"{v: a}", denyIf(`{key: a, operator: AnyNotIn, value: "{{ request.object.data.none || null }}"}`), "pass", "null",
	},
	"member of a boolean as text": {
		"{v: a}", denyIf(`{key: "true", operator: AnyNotIn, value: "false"}`), "pass", `"false"`,
	},
	"to_number of a quantity": {
		"{v: 10Gi}", denyIf("{key: \"{{ to_number(request.object.data.v) > `5` }}\", operator: Equals, value: true}"), "pass", `"10Gi"`,
	},
	"order of texts in JMESPath": {
		`{v: "10"}`, denyIf("{key: \"{{ request.object.data.v > `5` }}\", operator: Equals, value: true}"), "pass", "to_number",
	},
	"average of nothing": {
		"{v: a}", denyIf("{key: \"{{ avg(`[]`) }}\", operator: LessThan, value: 5}"), "pass", "avg",
	},
	"what is filtered": {
		"{v: '{'}", denyIf("{key: \"{{ parse_json(request.object.data.v)[?a] || `[]` | length(@) }}\", operator: GreaterThan, value: 0}"), "pass", "unexpected end",
	},
	"quantity under a pattern": {
		"{v: 10GB}", patternOf(`{data: {v: "<=1Gi"}}`), "fail", `"10GB" at /data/v/`,
	},
	"quantity under an anchor": {
		"{v: 10GB, w: bad}", patternOf(`{data: {(v): "<=1Gi", w: good}}`), "skip", `"10GB" at /data/v/`,
	},
	"missing value that would be little enough": {
		"{w: a}", patternOf(`{data: {v: "<=1Gi"}}`), "pass", "a missing value at /data/v/",
	},
	"negated order": {
		`{v: "9"}`, patternOf(`{data: {v: "!>5"}}`), "pass", `"!>5"`,
	},
	"quantity under a pattern with a variable": {
		"{v: 10GB, most: 1Gi}", patternOf(`{data: {v: "<={{ request.object.data.most }}"}}`), "fail", `"10GB" at /data/v/`,
	},
	"quantity under all patterns": {
		"{v: 10GB}", "validate: {message: m, anyPattern: [{data: {w: \"1\"}}, {data: {v: \"<1Gi | >5Gi\"}}]}", "fail", `"10GB"`,
	},
	"quantity in a loop": {
		"{v: 10GB}", `validate: {message: m, foreach: [{list: "request.object.data.*", deny: {conditions: {any: [{key: "{{ element }}", operator: GreaterThan, value: 1Gi}]}}}]}`, "pass", `"10GB"`,
	},
	"precondition of a loop": {
		"{v: 10GB, w: 2Gi}", `validate: {message: m, foreach: [{list: "request.object.data.*", preconditions: {all: [{key: "{{ element }}", operator: GreaterThan, value: 5Gi}]}, deny: {}}]}`, "", `"10GB"`,
	},
	"text that is no list": {
		`{v: ""}`, denyIf(`{key: a, operator: NotIn, value: "{{ request.object.data.v }}"}`), "pass", `""`,
	},
	"precondition": {
		"{v: 10GB}", "preconditions: {all: [{key: \"{{ request.object.data.v }}\", operator: GreaterThan, value: 1Gi}]}\nvalidate: {message: m, deny: {}}", "skip", `"10GB"`,
	},
}

// decidedCases are rules with operands that differ in type, are missing, or make no difference: verdicts.
var decidedCases = map[string]struct {
	data, rule, want string
}{
	"a number and a text are not equal": {"{v: a}", denyIf(`{key: 5, operator: Equals, value: "{{ request.object.data.v }}"}`), "pass"},
	"a text is not equal to a quantity": {"{v: 10GB}", denyIf(`{key: "{{ request.object.data.v }}", operator: NotEquals, value: 10Gi}`), "fail"},
	"null is not equal to a text":       {"{v: a}", denyIf(`{key: "{{ request.object.data.none || null }}", operator: Equals, value: a}`), "pass"},
	"a text is no member of another":    {"{v: a}", denyIf(`{key: "{{ request.object.data.v }}", operator: AnyIn, value: "5"}`), "pass"},
	"a text is no member of nothing":    {`{v: ""}`, denyIf(`{key: a, operator: In, value: "{{ request.object.data.v }}"}`), "pass"},
	"nothing is a member of null":       {"{v: a}", denyIf(`{key: a, operator: AnyIn, value: "{{ request.object.data.none || null }}"}`), "pass"},
	"null is a member of nothing":       {"{v: a}", denyIf(`{key: "{{ request.object.data.none || null }}", operator: AnyIn, value: [a]}`), "pass"},
	"a number of seconds":               {"{v: 2m}", denyIf(`{key: "{{ request.object.data.v }}", operator: GreaterThan, value: 60}`), "fail"},
	"quantities":                        {"{v: 1Gi}", denyIf(`{key: "{{ request.object.data.v }}", operator: GreaterThan, value: "1"}`), "fail"},
	"versions":                          {"{v: 1.10.0}", denyIf(`{key: "{{ request.object.data.v }}", operator: GreaterThan, value: 1.9.0}`), "fail"},
	"another condition denies":          {"{v: 10GB}", denyIf(`{key: "{{ request.object.data.v }}", operator: GreaterThan, value: 1Gi}, {key: a, operator: Equals, value: a}`), "fail"},
	"another element fails":             {"{v: 10GB, w: 2Gi}", `validate: {message: m, foreach: [{list: "sort(request.object.data.*)", deny: {conditions: {any: [{key: "{{ element }}", operator: GreaterThan, value: 1Gi}]}}}]}`, "fail"},
	"another field fails":               {"{v: 10GB, w: bad}", patternOf(`{data: {v: "<=1Gi", w: good}}`), "fail"},
	"another alternative matches":       {"{v: none}", patternOf(`{data: {v: "<=1Gi | none"}}`), "pass"},
	"an anchor skips":                   {"{v: 10GB, w: bad}", patternOf(`{data: {(w): good, v: "<=1Gi"}}`), "skip"},
	"what must be missing is":           {"{w: a}", patternOf(`{data: {X(v): "null"}}`), "pass"},
	"a missing value is not enough":     {"{w: a}", patternOf(`{data: {v: ">0"}}`), "fail"},
	"what may be missing is":            {"{w: a}", patternOf(`{data: {=(v): "<=1Gi"}}`), "pass"},
	"nothing is filtered":               {"{v: a}", denyIf("{key: \"{{ request.object.none[?a] || `[]` | length(@) }}\", operator: GreaterThan, value: 0}"), "pass"},
	"a missing number is not more":      {"{v: a}", denyIf("{key: \"{{ (request.object.data.none > `3`) || `false` }}\", operator: Equals, value: true}"), "pass"},
	"a default for a variable": {
		"{v: a}", "context: [{name: count, variable: {jmesPath: to_number(request.object.data.v), default: 3}}]\n" + denyIf(`{key: "{{ count }}", operator: GreaterThan, value: 2}`), "fail",
	},
}

func denyIf(conditions string) string {
	return "validate: {message: m, deny: {conditions: {any: [" + conditions + "]}}}"
}

func patternOf(pattern string) string { return "validate: {message: m, pattern: " + pattern + "}" }

func operandRule(rule string) string {
	return strings.ReplaceAll(enginetest.ClusterPolicy(enginetest.PodRule(rule)), "kinds: [Pod]", "kinds: [ConfigMap]")
}

func operandSubject(tb testing.TB, data string) policy.Subject {
	return enginetest.Subject(tb, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\ndata: "+data)
}

func compatible(tb testing.TB) *Compiler {
	tb.Helper()
	return testkit.Must(newCompiler(base.Config{CompatibleOperands: true}))(tb)
}

// TestUnreadableOperands promises that an operand that can't be read is an error that shows it, in scans and in
// requests, and that all of them can be switched back.
func TestUnreadableOperands(t *testing.T) {
	t.Parallel()
	theirs := compatible(t)
	for name, test := range operandCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, subject := operandRule(test.rule), operandSubject(t, test.data)
			var kyverno []string
			if test.kyverno != "" {
				kyverno = []string{"r:" + test.kyverno}
			}
			enginetest.Want(t, enginetest.Compile(t, theirs, text), subject, kyverno...)
			enginetest.WantError(t, compile(t, text), subject, "r", test.unreadable)
			object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\ndata: " + test.data
			verdicts := enginetest.WantVerdicts(t, compile(t, enginetest.Enforcing(text)), enginetest.Create(t, object), "r:error!")
			if len(verdicts) == 1 && !strings.Contains(verdicts[0].Message, test.unreadable) {
				t.Errorf("request: message %q lacks %q", verdicts[0].Message, test.unreadable)
			}
		})
	}
}

// TestReadableOperands promises that all else is a verdict, the same as Kyverno's.
func TestReadableOperands(t *testing.T) {
	t.Parallel()
	theirs := compatible(t)
	for name, test := range decidedCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, subject := operandRule(test.rule), operandSubject(t, test.data)
			enginetest.Want(t, enginetest.Compile(t, theirs, text), subject, "r:"+test.want)
			enginetest.Want(t, compile(t, text), subject, "r:"+test.want)
		})
	}
}

// TestOperandsOfUpdates: what the old object had is no reason to refuse a new one that is right, and none to let a new
// one pass that is not.
func TestOperandsOfUpdates(t *testing.T) {
	t.Parallel()
	object := func(value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team}\ndata: {v: " + value + "}"
	}
	for _, rule := range []string{patternOf(`{data: {v: "<=1Gi"}}`), denyIf(`{key: "{{ request.object.data.v }}", operator: GreaterThan, value: 1Gi}`)} {
		p := compile(t, enginetest.Enforcing(operandRule(rule)))
		for _, test := range []struct{ after, before, want string }{
			{"1Mi", "10GB", "r:pass"}, {"10GB", "1Mi", "r:error!"}, {"10GB", "10GB", "r:error!"}, {"2Gi", "2Gi", "r:skip"}, {"2Gi", "1Mi", "r:fail!"},
		} {
			enginetest.WantVerdicts(t, p, enginetest.Request(t, "UPDATE", object(test.after), object(test.before)), test.want)
		}
	}
}

// TestIntegersInJMESPath: a scan sees whole numbers as integers, which the library can neither order nor find equal to
// the numbers that expressions have.
func TestIntegersInJMESPath(t *testing.T) {
	t.Parallel()
	subject := enginetest.Subject(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: team, generation: 4}")
	for _, expression := range []string{"request.object.metadata.generation > `3`", "request.object.metadata.generation == `4`"} {
		text := operandRule(denyIf(`{key: "{{ ` + expression + ` }}", operator: Equals, value: true}`))
		if results := enginetest.Want(t, compile(t, text), subject, "r:fail"); len(results) == 1 && results[0].Outcome != report.OutcomeFail {
			t.Errorf("%s: %+v", expression, results)
		}
	}
}
