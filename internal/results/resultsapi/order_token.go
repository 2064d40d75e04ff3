// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"encoding/base64"
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/store/engine"
)

// orderedPlace is where a page of results in an order goes on: behind the result that has these values. It is what
// status.continue holds. It gives no right: what it is compared with are results of the question's own scope.
type orderedPlace struct {
	// Version of the token: tokenVersion.
	Version int `json:"v"`
	// OrderBy and Descending are the order that the place is in.
	OrderBy    engine.Field `json:"by"`
	Descending bool         `json:"desc,omitempty"`

	Text      string `json:"text,omitempty"`
	Seconds   int64  `json:"s,omitempty"`
	Namespace string `json:"ns,omitempty"`
	Kind      string `json:"kind"`
	Report    string `json:"report"`
	Index     int32  `json:"i,omitempty"`
	SubjectID int64  `json:"subject,omitempty"`
	Ordinal   int32  `json:"n,omitempty"`
}

// orderToken returns the place of a row as text for clients, who can't read it.
func orderToken(q *engine.OrderQuery, row *engine.ResultRow) (string, error) {
	at := q.Place(row, textOf(row))
	text, err := json.Marshal(orderedPlace{
		Version: tokenVersion, OrderBy: q.OrderBy, Descending: q.Descending,
		Text: at.Text, Seconds: at.Seconds, Namespace: at.Report.Namespace, Kind: at.Report.Kind, Report: at.Report.Name,
		Index: at.Index, SubjectID: at.SubjectID, Ordinal: at.Ordinal,
	})
	return base64.RawURLEncoding.EncodeToString(text), err
}

// orderPlaceOf returns the place of a token, nil for "".
func orderPlaceOf(at *field.Path, token string, q *engine.OrderQuery) (*engine.OrderPlace, *field.Error) {
	if token == "" {
		return nil, nil // No token is no place, and no error.
	}
	var p orderedPlace
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil, p.Version != tokenVersion, p.Kind == "":
		return nil, unknownToken(at, token)
	case p.OrderBy != q.OrderBy || p.Descending != q.Descending:
		return nil, field.Invalid(at, token, "is of an answer in another order; begin without it, or leave orderBy and descending as they were")
	}
	place := &engine.OrderPlace{
		Text: p.Text, Seconds: p.Seconds, Report: engine.ReportPlace{Namespace: p.Namespace, Kind: p.Kind, Name: p.Report},
		Index: p.Index, SubjectID: p.SubjectID, Ordinal: p.Ordinal,
	}
	if !place.Storable() {
		return nil, unknownToken(at, token)
	}
	return place, nil
}

func unknownToken(at *field.Path, token string) *field.Error {
	return field.Invalid(at, token, "is not the status.continue of an answer of this server; begin without it")
}
