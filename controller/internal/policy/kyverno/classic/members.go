// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	gojmespath "github.com/kyverno/go-jmespath"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/ext/wildcard"

	"github.com/docket-project/docket/controller/internal/policy"
)

// A condition such as {key: "{{ mine }}", operator: AnyIn, value: "{{ hosts }}"} asks which members of one list match a
// member of another. The engine looks for variables in each of some thousand hosts before it compares the first one,
// which takes ten times as long as all else. So rules ask for docket_members(hosts, mine) in its place: the members of
// hosts that have any influence. No operator that looks at members can tell the difference.
const membersFunction = "docket_members"

// pairsFunction is the same for a long list as the key. It leaves the list alone unless the value is a list, too.
const pairsFunction = "docket_pairs"

var (
	// memberOperators look at each member of their value for itself.
	memberOperators = []string{"in", "notin", "anyin", "allin", "anynotin", "allnotin"}
	// pairOperators ask whether there is a member of the key that matches one of the value.
	pairOperators = []string{"anyin", "allnotin"}
)

// variable is one without others in it.
var variable = regexp.MustCompile(`\{\{([^{}]+)\}\}`)

// narrow rewrites the conditions of a rule whose values read the context cache. It returns pairs of texts for messages:
// what it rewrote, and what the user wrote.
func narrow(rule *kyvernov1.Rule) []string {
	n := &narrowing{}
	visit(rule, n)
	return n.texts
}

// replacerOf returns what replaces the first of each pair by the second; nil if there are none.
func replacerOf(texts []string) *strings.Replacer {
	if len(texts) == 0 {
		return nil
	}
	return strings.NewReplacer(texts...)
}

// worded returns a result in the words of the user.
func (r *rule) worded(result policy.Result) policy.Result {
	if r.texts != nil {
		result.Message = r.texts.Replace(result.Message)
	}
	return result
}

// narrowing is the [visitor] of narrow.
type narrowing struct {
	// names are the variables that are from the context cache, or made of them.
	names []string
	// texts are pairs: what is rewritten, and what the user wrote.
	texts []string
}

func (n *narrowing) enter(entries []kyvernov1.ContextEntry) (leave func()) {
	outer := n.names
	for i := range entries {
		entry := &entries[i]
		_, cached := declaredBy(entry, false)
		if cached || entry.Variable != nil && entry.Variable.Value == nil && n.reads(entry.Variable.JMESPath) {
			n.names = append(n.names, entry.Name)
		}
	}
	return func() { n.names = outer }
}

func (n *narrowing) check(checked) {}

func (n *narrowing) list(conditions []kyvernov1.Condition, _ bool) {
	if len(n.names) == 0 {
		return
	}
	for i := range conditions {
		condition := &conditions[i]
		operator := strings.ToLower(string(condition.Operator))
		key, value := variableIn(condition.GetKey()), variableIn(condition.GetValue())
		if text := textOf(condition.GetKey()); slices.Contains(memberOperators, operator) && n.reads(value) && repeatable(text) {
			condition.SetValue(n.narrowed(value, text, membersFunction))
		} else if slices.Contains(pairOperators, operator) && n.reads(key) && repeatable(value) {
			condition.SetKey(n.narrowed(key, value, pairsFunction))
		}
	}
}

func (n *narrowing) narrowed(list, others, function string) string {
	text := fmt.Sprintf("%s(%s, %s)", function, list, others)
	n.texts = append(n.texts, text, list, previous(text), previous(list))
	return "{{ " + text + " }}"
}

// previous is what the engine makes of an expression for deletions.
func previous(expression string) string {
	return strings.ReplaceAll(expression, "request.object", "request.oldObject")
}

// variableIn returns the expression of a text that is a variable and nothing else. The engine has
// its own meaning for "@" and for a leading "-".
func variableIn(value any) string {
	text, _ := value.(string)
	match := variable.FindStringSubmatch(text)
	if match == nil || match[0] != text {
		return ""
	}
	expression := strings.TrimSpace(match[1])
	if expression == "@" || strings.HasPrefix(expression, "-") {
		return ""
	}
	return expression
}

// textOf returns an expression for what the engine makes of a text with variables; empty if that is too difficult.
func textOf(value any) string {
	if alone := variableIn(value); alone != "" {
		return alone
	}
	text, _ := value.(string)
	var parts []string
	for text != "" {
		at := variable.FindStringIndex(text)
		if at == nil {
			at = []int{len(text), len(text)}
		}
		if literal := text[:at[0]]; strings.ContainsAny(literal, `{}'\$`) {
			return ""
		} else if literal != "" {
			parts = append(parts, "'"+literal+"'")
		}
		if at[0] < at[1] {
			expression := variableIn(text[at[0]:at[1]])
			if expression == "" {
				return ""
			}
			parts = append(parts, "to_string("+expression+")")
		}
		text = text[at[1]:]
	}
	if parts == nil {
		return ""
	}
	return "join('', [" + strings.Join(parts, ", ") + "])"
}

// reads reports whether the expression is about a variable from the context cache.
func (n *narrowing) reads(expression string) bool {
	if expression == "" {
		return false
	}
	ast, err := gojmespath.NewParser().Parse(expression)
	return err == nil && anyNode(&ast, func(node *gojmespath.ASTNode) bool {
		name, _ := node.Value.(string)
		return node.NodeType == gojmespath.ASTField && slices.Contains(n.names, name)
	})
}

// repeatable reports whether there is an expression that gives the same each time.
func repeatable(expression string) bool {
	if expression == "" {
		return false
	}
	ast, err := gojmespath.NewParser().Parse(expression)
	return err == nil && !anyNode(&ast, func(node *gojmespath.ASTNode) bool {
		name, _ := node.Value.(string)
		return node.NodeType == gojmespath.ASTFunctionExpression && slices.Contains(impureFunctions, name)
	})
}

func anyNode(node *gojmespath.ASTNode, is func(*gojmespath.ASTNode) bool) bool {
	if is(node) {
		return true
	}
	for i := range node.Children {
		if anyNode(&node.Children[i], is) {
			return true
		}
	}
	return false
}

// membersOf returns those of the values that match one of the keys as the engine's operators see
// it, and those that the engine does not take as they are: patterns, texts with variables, and all
// that is no text. What it can't judge comes back whole.
func membersOf(values, keys any) any {
	list, ok := values.([]any)
	if !ok {
		return values
	}
	wanted, ok := textsOf(keys)
	if !ok {
		return values
	}
	equal := make(map[string]bool, len(wanted))
	var patterns []string
	for _, text := range wanted {
		if strings.ContainsAny(text, "*?") {
			patterns = append(patterns, text)
		} else {
			equal[text] = true
		}
	}
	out := []any{}
	for _, value := range list {
		text, ok := value.(string)
		if !ok || equal[text] || strings.ContainsAny(text, "*?{") || slices.ContainsFunc(patterns, func(pattern string) bool {
			return wildcard.Match(pattern, text)
		}) {
			out = append(out, value)
		}
	}
	return out
}

// textsOf returns the texts that the engine compares; false if it would do more with them.
func textsOf(keys any) ([]string, bool) {
	list, ok := keys.([]any)
	if !ok {
		list = []any{keys}
	}
	out := make([]string, 0, len(list))
	for _, key := range list {
		switch typed := key.(type) {
		case string:
			if strings.Contains(typed, "{{") {
				return nil, false
			}
			out = append(out, typed)
		case bool, float64, int64:
			out = append(out, fmt.Sprint(typed))
		default:
			return nil, false
		}
	}
	return out, true
}
