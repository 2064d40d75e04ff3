// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	// maxBombBytes is how much more memory a process may need for a policy that asks for all.
	maxBombBytes = raceMemory * (64 << 20)
	// maxBombSize is the length of the policies; that with gzip has its data beside.
	maxBombSize = 4000
	// bombVariable names the bomb that a process of this test sets off.
	bombVariable = "DOCKET_TEST_BOMB"
)

// burst is what a process tells about a bomb.
type burst struct {
	// Bytes is by how much its memory has grown.
	Bytes   int64
	Results []policy.Result
}

// TestBombs promises that a policy whose expressions make more and more data gets an error, and takes
// little memory until then. Each one is evaluated in a process of its own, twice.
func TestBombs(t *testing.T) {
	t.Parallel()
	for name, text := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			if len(text) > maxBombSize {
				t.Fatalf("the policy has %d bytes", len(text))
			}
			got := burstOf(t, "TestBombProcess", bombVariable+"="+text)
			if got.Bytes > maxBombBytes {
				t.Errorf("it takes %d MiB", got.Bytes>>20)
			}
			if len(got.Results) != 1 || got.Results[0].Outcome != report.OutcomeError || !strings.Contains(got.Results[0].Message, "more than 16 MiB") {
				t.Errorf("%.500v", got.Results)
			}
			t.Logf("%d bytes of policy, %d MiB", len(text), got.Bytes>>20)
		})
	}
}

// burstOf returns what another process of this program tells, which runs one test with a variable.
func burstOf(t *testing.T, test, variable string) burst {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.v")
	command.Env = append(os.Environ(), variable)
	output, err := command.CombinedOutput()
	_, told, found := strings.Cut(string(output), "burst ")
	told, _, _ = strings.Cut(told, "\n")
	var got burst
	if !found || err != nil || json.Unmarshal([]byte(told), &got) != nil {
		t.Fatalf("%v: %.2000s", err, output)
	}
	return got
}

// idle returns the most memory that the process has from now on, before it does anything.
func idle(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	testkit.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
	return peak(t)
}

// TestBombProcess is no test by itself: see [TestBombs].
func TestBombProcess(t *testing.T) {
	text := os.Getenv(bombVariable)
	if text == "" {
		t.Skip("it is a part of TestBombs")
	}
	out := testkit.Must(NewCompiler(base.Config{Timeout: time.Hour}))(t)
	p, s := out.Compile(enginetest.Object(t, text), nil), enginetest.Subject(t, enginetest.BadPod)
	before := idle(t)
	go func() { // Not all of the machine.
		for peak(t)-before < 1<<30 {
			<-time.After(10 * time.Millisecond)
		}
		tell(burst{Bytes: peak(t) - before})
		os.Exit(0)
	}()
	var results []policy.Result
	for range 2 {
		results, _ = enginetest.Evaluate(t, p, s)
	}
	tell(burst{Bytes: peak(t) - before, Results: results})
}

func tell(what burst) {
	data, _ := json.Marshal(what) //nolint:errchkjson // It has no values that JSON does not have.
	fmt.Printf("burst %s\n", data)
}

// peak returns the most memory that the process has had.
func peak(t *testing.T) int64 {
	t.Helper()
	status := testkit.Must(os.ReadFile("/proc/self/status"))(t)
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes := testkit.Must(strconv.ParseInt(strings.Fields(line)[0], 10, 64))(t)
	return kilobytes << 10
}

func bombs(t *testing.T) map[string]string {
	t.Helper()
	out := celBombs(t)
	for name, text := range jmesPathBombs() {
		out["JMESPath "+name] = text
	}
	return out
}

// jmesPathBombs are policies whose rule is named r.
func jmesPathBombs() map[string]string {
	seed := "'" + strings.Repeat("x", 500) + "'"
	times := func(count int, step string) string { return seed + strings.Repeat(" | "+step, count) }
	return map[string]string{
		"flatten":     jmesPathBomb("", "length("+times(40, "[@, @][]")+")"),
		"projection":  jmesPathBomb("", "length("+times(16, "[@, @][]")+" | [@, @, @, @, @, @, @, @, @, @, @, @][*][*])"),
		"join":        jmesPathBomb("", "length("+times(40, "join('', [@, @])")+")"),
		"to_string":   jmesPathBomb("", "length(to_string("+times(40, "[@, @]")+"))"),
		"object":      jmesPathBomb("", "length(to_string("+times(40, "{a: @, b: @}")+"))"),
		"replace":     jmesPathBomb("", "length("+times(6, "replace_all(@, 'x', @)")+")"),
		"regex":       jmesPathBomb("", "length("+times(6, "regex_replace_all('x', @, @)")+")"),
		"pattern":     jmesPathBomb("", "regex_match("+seed+" | replace_all(@, 'x', '(y{1000})'), 'y')"),
		"map":         jmesPathBomb("", "length(map(&join('', [@, @, @, @]), "+times(10, "[@, @][]")+" | map(&join('', [@, @, @, @, @, @, @, @, @, @]), @)))"),
		"sort_by":     jmesPathBomb("", "length(sort_by("+times(6, "[@, @][]")+", &"+times(40, "join('', [@, @])")+"))"),
		"random":      jmesPathBomb("", "random('((((a*b)*c)*d)*e)*')"),
		"parse_yaml":  jmesPathBomb("", "length(parse_yaml('"+yamlBomb()+"'))"),
		"parse_json":  jmesPathBomb("", "length(parse_json("+strings.Replace(times(18, "join('', [@, @])"), seed, "'[{}],'", 1)+" | join('', ['[', @, '1]'])))"),
		"variables":   jmesPathBomb(doubled(20, "{{ vN }}{{ vN }}"), "length(v20)"),
		"same text":   jmesPathBomb(doubled(11, "{{ vN }}{{ vN }}"), "length('"+strings.Repeat("{{ v11 }}", 60)+"')"),
		"same object": jmesPathBomb(doubled(11, "{{ vN }}{{ vN }}")+"- {name: o, variable: {value: {a: \"{{ v11 }}\"}}}\n", strings.Repeat("x{{ o }}", 60)),
	}
}

// doubled are context entries v0, v1, ... of which each has the one before as in the format.
func doubled(count int, format string) string {
	out := "- {name: v0, variable: {value: " + strings.Repeat("x", 500) + "}}\n"
	for i := range count {
		out += fmt.Sprintf("- {name: v%d, variable: {value: \"%s\"}}\n", i+1, strings.ReplaceAll(format, "N", strconv.Itoa(i)))
	}
	return out
}

func jmesPathBomb(context, expression string) string {
	if context != "" {
		context = "context:\n" + enginetest.Indent(context)
	}
	if !strings.Contains(expression, "x{{") {
		expression = "{{ " + expression + " }}"
	}
	return enginetest.ClusterPolicy(enginetest.PodRule(context + "validate:\n  message: m\n  deny: {conditions: {any: [{key: " +
		strconv.Quote(expression) + ", operator: Equals, value: 1}]}}\n"))
}

func celBombs(t *testing.T) map[string]string {
	t.Helper()
	texts := append([]string{"'" + strings.Repeat("x", 500) + "'"}, repeat(13, func(i int) string { return fmt.Sprintf("variables.v%d + variables.v%d", i, i) })...)
	lists := append([]string{"['x', 'y']"}, repeat(30, func(i int) string { return fmt.Sprintf("variables.v%d + variables.v%d", i, i) })...)
	maps := append([]string{"{'a': 'x', 'b': 'x'}"}, repeat(30, func(i int) string { return fmt.Sprintf("{'a': dyn(variables.v%d), 'b': dyn(variables.v%d)}", i, i) })...)
	numbers := append([]string{"[1e300]"}, repeat(18, func(i int) string { return fmt.Sprintf("variables.v%d + variables.v%d", i, i) })...)
	nested := append([]string{"'" + strings.Repeat("x", 100) + "'"}, repeat(11, func(i int) string { return fmt.Sprintf("variables.v%d + variables.v%d", i, i) })...)
	nested = append(nested, repeat(30, func(i int) string { return fmt.Sprintf("{'a': variables.v%d}", i+11) })...)
	wide := append(texts[:14:14], repeat(15, func(i int) string { return fmt.Sprintf("variables.v13 + '%d'", i) })...)
	var sum []string
	for i := range wide {
		sum = append(sum, fmt.Sprintf("variables.v%d.size()", i))
	}
	return map[string]string{
		"gzip":        celBomb(nil, "gzip.decompress(base64.decode(gzip.decompress(base64.decode('"+zipped(t)+"')))) != ''"),
		"strings":     celBomb(wide, strings.Join(sum, " + ")+" > 0"),
		"lists":       celBomb(repeat(25, func(int) string { return "lists.range(20000).map(i, [i, i])" }), strings.Join(sum[:25], " + ")+" > 0"),
		"join":        celBomb(lists, "variables.v30.join('').size() > 0"),
		"format":      celBomb(lists, "'%s'.format([variables.v30]).size() > 0"),
		"precision":   celBomb(nil, "lists.range(2000).map(i, '%.65535e').join('').format(lists.range(2000).map(i, 1.0)).size() > 0"),
		"numbers":     celBomb(numbers, "'%s'.format([variables.v18]).size() > 0"),
		"nested maps": celBomb(nested, "'%s'.format([variables.v41]).size() > 0"),
		"distinct":    celBomb(lists, "variables.v30.distinct().size() > 0"),
		"json":        celBomb(maps, "json.marshal(variables.v30).size() > 0"),
		"post":        celBomb(maps, "resource.Post('v1', 'configmaps', 'x', variables.v30).size() > 0"),
		"yaml":        celBomb(nil, "yaml.parse('"+yamlBomb()+"') != null"),
		"replace":     celBomb(texts[:14], "variables.v10.replace('', variables.v10).size() > 0"),
		"regex":       celBomb(nil, "'x'.matches(lists.range(800).map(i, 'x{1000}').join(''))"),
		"random":      celBomb(nil, "random('((((a*b)*c)*d)*e)*') != ''"),
		"classic CEL": enginetest.ClusterPolicy(enginetest.PodRule("validate:\n  cel:\n    variables:\n" + enginetest.Indent(enginetest.Indent(celVariables(wide))) + "\n    expressions: [{expression: \"" + strings.Join(sum, " + ") + " > 0\"}]")),
	}
}

func repeat(count int, text func(i int) string) []string {
	var out []string
	for i := range count {
		out = append(out, text(i))
	}
	return out
}

// celBomb is a policy with the variables v0, v1, ...
func celBomb(values []string, expression string) string {
	out := strings.Replace(validatingPolicyHead, "KIND", "ValidatingPolicy", 1)
	if len(values) > 0 {
		out += "  variables:\n" + enginetest.Indent(celVariables(values))
	}
	return out + "\n  validations: [{expression: " + strconv.Quote(expression) + "}]\n"
}

func celVariables(values []string) string {
	var out strings.Builder
	for i, value := range values {
		fmt.Fprintf(&out, "- {name: v%d, expression: %s}\n", i, strconv.Quote(value))
	}
	return out.String()
}

const validatingPolicyHead = `apiVersion: policies.kyverno.io/v1
kind: KIND
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
`

// zipped is 256 MiB of the same, compressed twice.
func zipped(t *testing.T) string {
	t.Helper()
	data := make([]byte, 256<<20)
	for range 2 {
		var out bytes.Buffer
		writer := gzip.NewWriter(&out)
		testkit.Must(writer.Write(data))(t)
		testkit.NoError(t, writer.Close())
		data = []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
	}
	return string(data)
}

// yamlBomb says one text thirty thousand times. The library allows a hundred references for each
// thing that is said.
func yamlBomb() string {
	ten := strings.TrimSuffix(strings.Repeat("*a,", 13), ",")
	out := "{z: [" + strings.Repeat("1,", 400) + "], a: &a " + strings.Repeat("x", 1000)
	for name := 'b'; name <= 'e'; name++ {
		out += fmt.Sprintf(", %c: &%c [%s]", name, name, strings.ReplaceAll(ten, "a", string(name-1)))
	}
	return out + "}"
}

// TestUnboundedFunctions promises that nobody uses functions whose result has no bound but those who
// may write policies of the cluster.
func TestUnboundedFunctions(t *testing.T) {
	t.Parallel()
	pod := strings.Replace(enginetest.BadPod, "metadata: {", "metadata: {namespace: team, ", 1)
	const refused = "is not for namespaced policies and exceptions"
	for _, expression := range []string{
		"random() != ''", "random('[a]') != ''", "[random.random('a')].size() > 0", "object.spec.containers.all(c, gzip.decompress(b'') == c.image)",
		"lists.range(3).size() > 0", "optional.of(random('a')).orValue('') != ''",
	} {
		text := celBomb(nil, expression)
		if problem := compileAny(t, text).Problem(); problem != nil {
			t.Errorf("%s in the cluster: %v", expression, problem)
		}
		namespaced := strings.NewReplacer("kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", "metadata: {", "metadata: {namespace: team, ").Replace(text)
		p := compileAny(t, namespaced)
		enginetest.WantError(t, p, enginetest.Subject(t, pod), "", refused)
		if problem := p.Problem(); problem == nil || !strings.Contains(problem.Error(), refused) {
			t.Errorf("%s: %v", expression, problem)
		}
	}
	for expression, outcome := range map[string]string{"random('a')": "r:error", "{{ 'random' }}('a')": "r:error", "to_upper('a')": "r:fail"} {
		rule := enginetest.PodRule("validate: {message: m, deny: {conditions: {any: [{key: " + strconv.Quote("{{ "+expression+" }}") + ", operator: NotEquals, value: b}]}}}")
		if strings.HasPrefix(expression, "{{") {
			rule = enginetest.PodRule("context: [{name: f, variable: {value: random}}]\nvalidate: {message: m, deny: {conditions: {any: [{key: \"{{ {{ f }}('a') }}\", operator: NotEquals, value: b}]}}}")
		}
		text := strings.NewReplacer("kind: ClusterPolicy", "kind: Policy", "metadata: {name: p", "metadata: {namespace: team, name: p").Replace(enginetest.ClusterPolicy(rule))
		results := enginetest.Want(t, compile(t, text), enginetest.Subject(t, pod), outcome)
		if outcome == "r:error" && !strings.Contains(results[0].Message, refused) {
			t.Errorf("%s: %s", expression, results[0].Message)
		}
	}
}

// TestUnboundedExceptions promises that an exception with such a function does not count, and is
// reported as such with one of them, always the same.
func TestUnboundedExceptions(t *testing.T) {
	t.Parallel()
	for policyText, exceptionText := range map[string]string{
		enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)): strings.TrimRight(enginetest.Exception, "\n") + "\n  conditions: {any: [{key: \"{{ random('a') }}\", operator: Equals, value: a}]}\n",
		enginetest.ValidatingPolicy: strings.Replace(enginetest.CELException, "object.metadata.name == 'bad'", "random('a') == 'a'", 1),
	} {
		without, with := compile(t, policyText), compile(t, policyText, exceptionText)
		expected, _ := enginetest.Evaluate(t, without, enginetest.Subject(t, enginetest.BadPod))
		got, _ := enginetest.Evaluate(t, with, enginetest.Subject(t, enginetest.BadPod))
		enginetest.WantEqual(t, "results", expected, got)
		wantIgnored(t, with, policy.ExceptionUnbounded)
		if doubt := with.Doubt(); doubt != nil {
			t.Errorf("the policy is said to be in doubt: %v", doubt)
		}
	}
	several := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "random('a') == 'a'", "b": "lists.range(3).size() > 0"}}}
	for range 20 {
		if name := base.UnboundedOf(several); name != "lists.range" {
			t.Fatalf("named is %q", name)
		}
	}
}
