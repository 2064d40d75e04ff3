// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	status := func(text string) *Answer {
		return answerOf(422, `{"kind":"Status","apiVersion":"v1","status":"Failure",`+text+`}`)
	}
	invalid := `"reason":"Invalid","message":"x is invalid: [a, b]","details":{"causes":[{"reason":"R","field":"f"},{"reason":"R","field":"g"}]}`
	for name, test := range map[string]struct {
		left, right *Answer
		want        []Difference
	}{
		"equal":            {answerOf(200, `{"a":[1,{"b":null}]}`), answerOf(200, `{"a":[1,{"b":null}]}`), nil},
		"code":             {answerOf(200, `{}`), answerOf(201, `{}`), []Difference{{AspectCode, "", "200", "201"}}},
		"notation":         {answerOf(200, `{"a":1}`), answerOf(200, `{"a":1.0}`), []Difference{{AspectObject, "a", "1", "1.0"}}},
		"missing":          {answerOf(200, `{"a":[{"b":""}]}`), answerOf(200, `{"a":[{}]}`), []Difference{{AspectObject, "a[].b", `""`, ""}}},
		"additional":       {answerOf(200, `{}`), answerOf(200, `{"a.b":null}`), []Difference{{AspectObject, `"a.b"`, "", "null"}}},
		"items":            {answerOf(200, `{"a":[1]}`), answerOf(200, `{"a":[1,2]}`), []Difference{{AspectObject, "a", "[1]", "[1,2]"}}},
		"managed fields":   {answerOf(200, `{"metadata":{"managedFields":[{"manager":"a"}]}}`), answerOf(200, `{"metadata":{"managedFields":[{"manager":"b"}]}}`), []Difference{{AspectManaged, "metadata.managedFields[].manager", `"a"`, `"b"`}}},
		"order of causes":  {status(invalid), status(strings.Replace(strings.Replace(invalid, `"f"`, `"x"`, 1), `"g"`, `"f"`, 1)), []Difference{{AspectCauses, "", `[{"field":"f","reason":"R"},{"field":"g","reason":"R"}]`, `[{"field":"f","reason":"R"},{"field":"x","reason":"R"}]`}}},
		"same causes":      {status(invalid), status(strings.Replace(strings.NewReplacer(`"f"`, `"g"`, `"g"`, `"f"`).Replace(invalid), "[a, b]", "[b, a]", 1)), nil},
		"reason":           {status(`"reason":"Invalid"`), status(`"reason":"BadRequest"`), []Difference{{AspectReason, "", `"Invalid"`, `"BadRequest"`}}},
		"message":          {status(`"message":"a"`), status(`"message":"b"`), []Difference{{AspectMessage, "", `"a"`, `"b"`}}},
		"order of unknown": {status(`"message":"strict decoding error: unknown field \"a\", unknown field \"b\""`), status(`"message":"strict decoding error: unknown field \"b\", unknown field \"a\""`), nil},
		"warnings":         {&Answer{Code: 200, Warnings: []string{"w"}}, &Answer{Code: 200}, []Difference{{AspectWarnings, "", `["w"]`, "null"}}},
		"content type":     {&Answer{Code: 200, ContentType: "a"}, &Answer{Code: 200, ContentType: "b"}, []Difference{{AspectType, "", `"a"`, `"b"`}}},
	} {
		testkit.NoDiff(t, cmp.Diff(test.want, Compare(test.left, test.right)), "%s (-want +got)", name)
	}
}

func answerOf(code int, body string) *Answer {
	return newAnswer(&http.Response{StatusCode: code, Header: http.Header{"Content-Type": {typeJSON}}}, []byte(body))
}

const someToken = "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"

// TestComparable: what differs by nature is made equal, and nothing else.
func TestComparable(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Format(time.RFC3339)
	for given, want := range map[string]string{
		`{"metadata":{"uid":"aaaaaaaa-0000-0000-0000-000000000001","resourceVersion":"12","creationTimestamp":"` + now + `"}}`: `{"metadata":{"creationTimestamp":"<now>","resourceVersion":"<version>","uid":"<uid>"}}`,
		`{"metadata":{"uid":"` + madeUpUID + `","resourceVersion":"","creationTimestamp":"2020-01-01T00:00:00Z"}}`:             `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z","resourceVersion":"","uid":"` + madeUpUID + `"}}`,
		`{"metadata":{"managedFields":[{"manager":"b","time":"` + now + `"},{"manager":"a"}]}}`:                                `{"metadata":{"managedFields":[{"manager":"a"},{"manager":"b","time":"<now>"}]}}`,
		`{"items":[],"metadata":{"continue":""}}`:                                                            `{"items":[],"metadata":{"continue":""}}`,
		`{"items":[],"metadata":{"continue":"` + someToken + `","remainingItemCount":1}}`:                    `{"items":[],"metadata":{"continue":""}}`,
		`{"items":[],"metadata":{"continue":"made-up"}}`:                                                     `{"items":[],"metadata":{"continue":"made-up"}}`,
		`{"items":[],"kind":"PartialObjectMetadataList","metadata":{"continue":"` + someToken + `"}}`:        `{"items":[],"kind":"PartialObjectMetadataList","metadata":{}}`,
		`{"rows":[],"metadata":{}}`:                                                                          `{"metadata":{},"rows":[]}`,
		`{"rows":[],"metadata":{"continue":""}}`:                                                             `{"metadata":{"continue":""},"rows":[]}`,
		`{"rows":[],"metadata":{"continue":"` + someToken + `","remainingItemCount":1}}`:                     `{"metadata":{},"rows":[]}`,
		`{"metadata":{"creationTimestamp":null,"uid":""}}`:                                                   `{"metadata":{"creationTimestamp":null,"uid":""}}`,
		`{"metadata":{"name":"a-x7k2p"},"x":"about a-x7k2p"}`:                                                `{"metadata":{"name":"<generated>"},"x":"about <generated>"}`,
		`{"columnDefinitions":[{"name":"Name"},{"name":"Age","type":"date"}],"rows":[{"cells":["n","5s"]}]}`: `{"columnDefinitions":[{"name":"Name"},{"name":"Age","type":"date"}],"rows":[{"cells":["n","<age>"]}]}`,
		`{"columnDefinitions":[{"name":"Age","type":"date"}],"rows":[{"cells":["<unknown>"]}]}`:              `{"columnDefinitions":[{"name":"Age","type":"date"}],"rows":[{"cells":["<unknown>"]}]}`,
		`{"message":"UID in precondition: x, UID in object meta: aaaaaaaa-0000-0000-0000-000000000001"}`:     `{"message":"UID in precondition: x, UID in object meta: <uid>"}`,
	} {
		var b strings.Builder
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		testkit.NoError(t, encoder.Encode(answerOf(200, given).comparable("a-x7k2p").Body))
		testkit.NoDiff(t, cmp.Diff(want, strings.TrimSpace(b.String())), "%s (-want +got)", given)
	}
}
