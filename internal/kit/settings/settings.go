// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// FileFlag is the name of the flag that names the file.
const FileFlag = "config"

const (
	envPrefix   = "DOCKET_"
	maxFileSize = 1 << 20
)

// AddFlag adds --config to fs.
func AddFlag(fs *pflag.FlagSet) {
	fs.String(FileFlag, "", "YAML file with settings: a map from flag names to values. "+
		"Flags and environment variables ("+envPrefix+"<FLAG_NAME>) win over it.")
}

// EnvName returns the environment variable of a flag: "watch-history" gives
// "DOCKET_WATCH_HISTORY".
func EnvName(flag string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(flag))
}

// Apply sets the flags of fs that the command line left alone from the
// environment and from the file. fs must have been parsed. lookup is
// os.LookupEnv outside tests. All problems are returned together; each names the
// source and the setting.
func Apply(fs *pflag.FlagSet, lookup func(string) (string, bool)) (Origins, error) {
	from := Origins{}
	errs := applyEnvironment(fs, lookup, from)
	file := fs.Lookup(FileFlag)
	if file == nil || file.Value.String() == "" {
		return from, errors.Join(errs...)
	}
	path := file.Value.String()
	values, err := readFile(path)
	if err != nil {
		return from, errors.Join(append(errs, err)...)
	}
	return from, errors.Join(append(errs, applyFile(fs, path, values, from)...)...)
}

// Origins says where settings come from, by the names of the flags that the command
// line left alone.
type Origins map[string]string

// Explain adds to an error where the settings come from that it names as flags.
func (o Origins) Explain(err error) error {
	if err == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if regexp.MustCompile("--" + regexp.QuoteMeta(name) + `([^\w-]|$)`).MatchString(err.Error()) {
			err = fmt.Errorf("%w\n--%s is from %s", err, name, o[name])
		}
	}
	return err
}

func applyEnvironment(fs *pflag.FlagSet, lookup func(string) (string, bool), from Origins) []error {
	var errs []error
	fs.VisitAll(func(flag *pflag.Flag) {
		name := EnvName(flag.Name)
		value, _ := lookup(name)
		if flag.Changed || value == "" || isMeta(flag.Name) {
			return
		}
		if err := fs.Set(flag.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", name, Cause(err)))
		}
		from[flag.Name] = "environment variable " + name
	})
	return errs
}

func applyFile(fs *pflag.FlagSet, path string, values map[string]any, from Origins) []error {
	var errs []error
	for _, name := range sortedKeys(values) {
		flag := fs.Lookup(name)
		switch {
		case flag == nil || isMeta(name) || name == FileFlag:
			errs = append(errs, fmt.Errorf("%s: unknown setting %q: settings are the command's flags without dashes in front (see --help)", path, name))
			continue
		case flag.Changed:
			continue
		}
		texts, err := textsOf(values[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", path, name, err))
			continue
		}
		from[name] = path
		for _, text := range texts {
			if err := fs.Set(name, text); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", path, name, Cause(err)))
				break
			}
		}
	}
	return errs
}

// isMeta tells flags that make sense on the command line only.
func isMeta(name string) bool {
	return name == "help" || name == "version"
}

// Cause says of the error of a flag what is wrong with the value, in a user's words and
// without the name of the flag.
func Cause(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	want := map[string]string{
		"bool": "true or false", "duration": "a time such as 30s, 10m or 24h", "float32": "a number", "float64": "a number",
		"int": wholeNumber, "int32": wholeNumber, "int64": wholeNumber, "uint": wholeNumber, "uint16": wholeNumber, "uint32": wholeNumber,
		"Level": wholeNumber, // Of the log.
	}[invalid.GetFlag().Value.Type()]
	if want == "" {
		return invalid.Unwrap()
	}
	return fmt.Errorf("%q is not %s", invalid.GetValue(), want)
}

const wholeNumber = "a whole number of a sensible size"

func readFile(path string) (map[string]any, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", FileFlag, err)
	}
	if info.Size() > maxFileSize {
		return nil, fmt.Errorf("--%s: %s has %d bytes, more than the %d that a file of settings may have", FileFlag, path, info.Size(), maxFileSize)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", FileFlag, err)
	}
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// Numbers keep their text: 268435456 must not become 2.68435456e+08.
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, fmt.Errorf("%s: must be a map from flag names to values: %w", path, err)
	}
	return values, nil
}

// textsOf returns what to hand to the flag, one entry for each time that it is
// to be set. Null gives none: the setting is left alone.
func textsOf(value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		texts := make([]string, 0, len(v))
		for i, item := range v {
			text, err := scalar(item)
			if err != nil {
				return nil, fmt.Errorf("entry %d: %w", i, err)
			}
			texts = append(texts, text)
		}
		return texts, nil
	case map[string]any:
		texts := make([]string, 0, len(v))
		for _, key := range sortedKeys(v) {
			text, err := scalar(v[key])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			texts = append(texts, key+"="+text)
		}
		return texts, nil
	}
	text, err := scalar(value)
	return []string{text}, err
}

func scalar(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool, json.Number:
		return fmt.Sprint(v), nil
	}
	return "", errors.New("must be a string, a number, a boolean, a list or a map of these")
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
