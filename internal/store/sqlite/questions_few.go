// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Few implements questions.Source.
func (s *asked) Few(_ context.Context, part engine.Part, condition questions.Condition, namespace *string, limit int) ([]engine.ReportPlace, bool, error) {
	if part == engine.PartSubject {
		return s.fewAbout(condition, namespace, limit)
	}
	var sql sqlText
	sql.addFew(waysTo[part], s.cluster, condition.Filter, limit+1)
	found, err := s.reportPlaces(&sql)
	if err != nil || len(found) > limit {
		return nil, false, err
	}
	return found, true, nil
}

// fewAbout is Few for subjects. That these alone are more than the limit is answer enough: what nothing is about any more goes in time.
func (s *asked) fewAbout(condition questions.Condition, namespace *string, limit int) ([]engine.ReportPlace, bool, error) {
	subjects, err := s.subjects(condition, limit+1)
	if err != nil || len(subjects) > limit {
		return nil, false, err
	}
	if len(subjects) == 0 {
		return nil, true, nil
	}
	numbers, err := json.Marshal(subjects)
	if err != nil {
		return nil, false, err
	}
	var found []engine.ReportPlace
	for _, way := range waysToSubjects {
		var sql sqlText
		sql.addAbout(way, s.cluster, string(numbers), namespace, limit+1-len(found))
		more, err := s.reportPlaces(&sql)
		if found = append(found, more...); err != nil || len(found) > limit {
			return nil, false, err
		}
	}
	return found, true, nil
}

// subjects returns the first subjects that meet a condition, by their numbers.
func (s *asked) subjects(condition questions.Condition, limit int) (numbers []int64, err error) {
	if condition.Subject != nil {
		return []int64{*condition.Subject}, nil
	}
	var sql sqlText
	sql.addSubjects(s.cluster, condition.Filter, limit)
	err = s.scan(func(row []driver.Value) error {
		numbers = append(numbers, row[0].(int64))
		return nil
	}, sql.String(), sql.args...)
	return numbers, err
}

// reportPlaces returns the reports that a statement selects.
func (s *asked) reportPlaces(sql *sqlText) (found []engine.ReportPlace, err error) {
	err = s.scan(func(row []driver.Value) error {
		var place engine.ReportPlace
		scan(row, &place.Namespace, &place.Kind, &place.Name)
		found = append(found, place)
		return nil
	}, sql.String(), sql.args...)
	return found, err
}
