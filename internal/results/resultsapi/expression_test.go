// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

var questionTime = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// row is a row for tests: texts of fields, and the time of the result.
type row struct {
	texts   map[engine.Field]string
	seconds int64
}

func exampleRows() []row {
	day := int64(24 * 60 * 60)
	noon := questionTime.Unix()
	return []row{
		{map[engine.Field]string{"result": "fail", "severity": "high", "policy": "require-labels", "report.namespace": "shop", "subject.kind": "Pod",
			"subject.name": "web-1", "message": "no label team", "scored": "true", "report.created": fmt.Sprint(noon - day),
			"properties.score": "8.5", "properties.artifact.repository": "library/nginx"}, noon - day/2},
		{map[engine.Field]string{"result": "pass", "severity": "low", "policy": "require-probes", "report.namespace": "bank", "scored": "false",
			"report.created": fmt.Sprint(noon), "properties.score": "-3", "properties.artifact.repository": "it's"}, noon - 2*day},
		{map[engine.Field]string{"result": "fail", "policy": "CVE-2026-1", "source": "Trivy", "report.namespace": "shop", "scored": "true",
			"report.created": fmt.Sprint(noon - 2*day), "properties.score": "10", "properties.artifact.repository": ""}, noon},
	}
}

// TestExpressionsMeanWhatCELSays compares what is selected with what the library for CEL says of the same rows.
func TestExpressionsMeanWhatCELSays(t *testing.T) {
	env := testkit.Must(expressions())(t)
	for _, text := range []string{
		`true`, `false`, `!true`,
		`result == "fail"`, `"fail" == result`, `result != "fail"`, `!(result == "fail")`,
		`result == "fail" && severity == "high"`, `result == "pass" || severity == "high" || policy == "x"`,
		`(result == "fail" || result == "pass") && report.namespace == "shop" && policy != "x"`,
		`result in ["fail", "error"]`, `!(severity in ["high", "low"])`, `result in []`,
		`scored`, `!scored`, `scored == true`, `scored != false && true`,
		`policy.startsWith("require-")`, `policy.endsWith("s")`, `message.contains("label")`, `!policy.contains("-")`, `source.startsWith("")`,
		`subject.kind == "Pod" && subject.name.startsWith("web")`, `subject.kind == ""`,
		`timestamp > now - duration("24h")`, `timestamp >= timestamp("2026-11-25T12:00:00Z")`, `timestamp < timestamp("2026-11-25T12:00:00.5Z")`,
		`timestamp <= timestamp("2026-11-25T12:00:00Z")`, `timestamp > timestamp("2026-11-25T11:59:59.5Z")`, `timestamp >= timestamp("2026-11-25T11:59:59.5Z")`,
		`timestamp == timestamp("2026-11-25T12:00:00Z")`, `timestamp != timestamp("2026-11-25T12:00:00Z")`,
		`timestamp == timestamp("2026-11-25T12:00:00.5Z")`, `timestamp != timestamp("2026-11-25T12:00:00.5Z")`,
		`report.created < now`, `report.created <= now - duration("24h")`, `now - duration("24h") == report.created`, `report.created != now`,
		`properties["score"] == "8.5"`, `properties["score"] != "8.5"`, `"10" == properties["score"]`, `properties.score == "10"`,
		`properties["artifact.repository"].startsWith("library/")`, `properties["artifact.repository"].endsWith("nginx")`,
		`properties["artifact.repository"].contains("'")`, `properties["artifact.repository"] in ["it's", ""]`,
		`timestamp("2026-11-24T12:00:00Z") < timestamp`, `now - duration("1h") >= timestamp`, `timestamp < now + duration("1s")`,
	} {
		t.Run(text, func(t *testing.T) {
			filter := testkit.Must(compileExpression(text, questionTime))(t)
			checked, issues := env.Compile(text)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			program := testkit.Must(env.Program(checked))(t)
			for i, r := range exampleRows() {
				want, _ := testkit.Must2(program.Eval(r.variables()))(t)
				if got := filter.Match(func(f engine.Field) string { return r.texts[f] }, r.seconds); got != want.Value() {
					t.Errorf("row %d: got %v, and CEL says %v", i, got, want)
				}
			}
		})
	}
}

// variables are those of CEL for a row.
func (r row) variables() map[string]any {
	variables := map[string]any{nowVariable: questionTime}
	for _, field := range engine.Fields() {
		variables[string(field)] = r.texts[field]
	}
	variables[string(engine.FieldScored)] = r.texts[engine.FieldScored] == "true"
	variables[string(engine.FieldSeconds)] = time.Unix(r.seconds, 0)
	created, err := strconv.ParseInt(r.texts[engine.FieldCreated], 10, 64)
	if err != nil {
		panic(err)
	}
	variables[string(engine.FieldCreated)] = time.Unix(created, 0)
	properties := map[string]string{}
	for field, text := range r.texts {
		if name, ok := field.Property(); ok {
			properties[name] = text
		}
	}
	variables[propertiesVariable] = properties
	return variables
}

// TestExpressionsOfResultsWithoutTime: they are neither before nor after anything.
func TestExpressionsOfResultsWithoutTime(t *testing.T) {
	for _, text := range []string{`report.created < now`, `report.created != now`, `timestamp < now`, `timestamp > timestamp("0001-01-01T00:00:00Z")`, `timestamp != now`} {
		filter := testkit.Must(compileExpression(text, questionTime))(t)
		if filter.Match(func(engine.Field) string { return "0" }, 0) {
			t.Errorf("%s selects a result without a time", text)
		}
	}
}

// TestExpressionsOfMissingProperties: a property that is missing is empty.
func TestExpressionsOfMissingProperties(t *testing.T) {
	for text, want := range map[string]bool{
		`properties["a"] == ""`: true, `properties["a"] != ""`: false, `properties.a.startsWith("")`: true, `properties["a"] in ["b"]`: false,
	} {
		filter := testkit.Must(compileExpression(text, questionTime))(t)
		if got := filter.Match(func(engine.Field) string { return "" }, 0); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	for text, want := range map[string]string{
		`result = "fail"`:                   "Syntax error",
		`colour == "red"`:                   "undeclared reference",
		`result`:                            "must be a bool",
		`result == 1`:                       "no matching overload",
		`result == policy`:                  "two fields",
		`result < "fail"`:                   "the order of texts",
		`policy.matches("a+")`:              "matches",
		`size(policy) > 3`:                  "without a field",
		`"a" in ["b"]`:                      "without a field",
		`policy in [rule]`:                  "what is no text",
		`policy.startsWith(rule)`:           "without a field and a text",
		`(scored ? result : policy) == "x"`: "without a field",
		`properties["a\"b"] == ""`:          `"a\"b", has a quote`,
		`properties["a\\b"] == ""`:          "has a quote, a backslash",
		`properties["a\x00"] == ""`:         "control character",
		`properties[""] == ""`:              "is empty",
		`properties["` + strings.Repeat("a", 254) + `"] == ""`: "longer than 253 bytes",
		`properties[policy] == ""`:                             "without a field",
		`properties["a"] == properties["b"]`:                   "two fields",
		`properties["a"] < "b"`:                                "the order of texts",
		`properties["a"] >= 8.0`:                               "no matching overload",
		`properties == {"a": "b"}`:                             "without a field",
		`"a" in properties`:                                    "without a field and a list",
		`size(properties) > 0`:                                 "without a field",
		`double(properties["a"]) > 8.0`:                        "without a field",
		`report.created == "2026"`:                             "no matching overload",
		`report.created < timestamp`:                           "a time that is not known",
		`timestamp < timestamp("tomorrow")`:                    `the time "tomorrow"`,
		`timestamp < now - duration("1 day")`:                  `the duration "1 day"`,
		`result == "fail" && policy == rule`:                   "column 28",
		strings.Repeat("!(rule == '' && ", 60) + "scored" + strings.Repeat(")", 60): "recursion limit",
		`policy == "` + strings.Repeat("a", maxExpression) + `"`:                    "size",
	} {
		filter, err := compileExpression(text, questionTime)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v and the error %v, want one with %q", text, filter, err, want)
		}
	}
}

// FuzzExpressions looks for expressions whose filter can't be used, or means something else than CEL says.
func FuzzExpressions(f *testing.F) {
	f.Add(`result == "fail" && (severity in ["high"] || !scored)`)
	f.Add(`properties["score"] == "8.0" || properties["artifact.repository"].startsWith("library/")`)
	f.Add(`timestamp >= now - duration("24h") && subject.name.contains("web")`)
	env := testkit.Must(expressions())(f)
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := compileExpression(text, questionTime)
		if err != nil || filter == nil {
			return
		}
		testkit.NoError(t, filter.Check())
		checked, issues := env.Compile(text)
		if issues.Err() != nil {
			t.Fatal(issues.Err())
		}
		program, err := env.Program(checked, cel.EvalOptions(cel.OptOptimize))
		if err != nil {
			return // A constant that fails when it is made.
		}
		for _, r := range exampleRows() {
			want, _, err := program.Eval(r.variables())
			if err != nil {
				continue // Such as a sum of times beyond year 9999.
			}
			if got := filter.Match(func(f engine.Field) string { return r.texts[f] }, r.seconds); got != want.Value() {
				t.Errorf("%s: got %v, and CEL says %v", text, got, want)
			}
		}
	})
}
