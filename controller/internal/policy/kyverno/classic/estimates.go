// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"encoding/json"
	"strings"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/engine/variables/regex"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
)

// estimates has, for the functions of JMESPath whose result can be much more than their arguments,
// what they make at most.
var estimates = map[string]func(args []any) int64{
	"join": func(args []any) int64 {
		count, _ := elementsOf(at(args, 1))
		return meter.NativeBytes(at(args, 1)) + meter.Times(int64(len(count)), textAt(args, 0))
	},
	"replace":                   estimateReplace,
	"replace_all":               estimateReplace,
	"split":                     func(args []any) int64 { return meter.Times(occurrences(args)+1, 2*meter.ValueBytes) },
	"regex_replace_all":         estimateRegexReplace,
	"regex_replace_all_literal": estimateRegexReplace,
	"regex_match":               func(args []any) int64 { return meter.ExpressionBytes(stringAt(args, 0)) },
	"to_string":                 func(args []any) int64 { return meter.Times(meter.NativeBytes(at(args, 0)), meter.WrittenPerByte) },
	"parse_json":                func(args []any) int64 { return meter.Times(textAt(args, 0), meter.ParsedPerByte) },
	"parse_yaml":                func(args []any) int64 { return meter.YAMLBytes(stringAt(args, 0)) },
	"x509_decode":               func(args []any) int64 { return meter.Times(textAt(args, 0), meter.ParsedPerByte) },
	"random":                    func(args []any) int64 { return meter.RandomBytes(stringAt(args, 0)) },
	"items":                     func(args []any) int64 { return meter.Times(meter.Elements(at(args, 0)), 4*meter.EntryBytes) },
	"object_from_lists":         func(args []any) int64 { return meter.Times(meter.Elements(at(args, 0)), 2*meter.EntryBytes) },
	"merge": func(args []any) int64 {
		var out int64
		for _, arg := range args {
			out += meter.Times(meter.Elements(arg), 2*meter.EntryBytes)
		}
		return out
	},
	"label_match": func(args []any) int64 { return meter.Times(meter.Elements(at(args, 0)), meter.ValueBytes) },
}

func at(args []any, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}

func stringAt(args []any, i int) string {
	out, _ := at(args, i).(string)
	return out
}

func textAt(args []any, i int) int64 { return int64(len(stringAt(args, i))) }

// occurrences returns how often the second text is in the first one.
func occurrences(args []any) int64 {
	return int64(strings.Count(stringAt(args, 0), stringAt(args, 1)))
}

func estimateReplace(args []any) int64 {
	count := occurrences(args)
	if limit, ok := at(args, 3).(float64); ok && limit >= 0 && limit < float64(count) {
		count = int64(limit)
	}
	return textAt(args, 0) + meter.Times(count, textAt(args, 2))
}

func estimateRegexReplace(args []any) int64 {
	return meter.ExpressionBytes(stringAt(args, 0)) + meter.Times(textAt(args, 1)+1, textAt(args, 2)+1)
}

// shallowBytes returns what a function has made, if it has not made what is in lists and objects. A
// text is copied once more by the engine.
func shallowBytes(value any) int64 {
	if text, ok := value.(string); ok {
		return 2*int64(len(text)) + meter.ValueBytes
	}
	return meter.Times(meter.Elements(value), meter.ValueBytes)
}

// wholeExpressions returns the expressions of a rule that are all of a text, and nowhere a part of
// one: the engine does not write their results as text.
func wholeExpressions(rule *kyvernov1.Rule) map[string]bool {
	data, err := json.Marshal(rule)
	var content any
	if err != nil || json.Unmarshal(data, &content) != nil {
		return nil
	}
	whole, parts := map[string]bool{}, map[string]bool{}
	base.EachText(content, func(text string) {
		found := regex.RegexVariables.FindAllString(text, -1)
		if len(found) == 0 {
			whole[text] = true
		}
		for _, variable := range found {
			_, inner, _ := strings.Cut(variable, "{{")
			expression := strings.TrimSpace(strings.TrimSuffix(inner, "}}"))
			if variable == text {
				whole[expression] = true
			} else {
				parts[expression] = true
			}
		}
	})
	for expression := range parts {
		delete(whole, expression)
	}
	return whole
}
