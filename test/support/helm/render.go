// Renders a chart with the parts that Helm is made of: Go's text/template, sprig's functions, its reader of YAML and its validator of values. What Helm adds
// to them, as far as a chart of one folder without dependencies notices, is written here. engine.ts builds and starts it; it knows no chart.
//
//	render <chart> <values.yaml> <version of the API> …
//
// Prints {"refused": what the schema says, "templates": {path: text}, "objects": […]}.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

type table = map[string]interface{}

type versions []string

func (all versions) Has(version string) bool {
	for _, one := range all {
		if one == version {
			return true
		}
	}
	return false
}

type result struct {
	Refused   []string          `json:"refused"`
	Templates map[string]string `json:"templates"`
	Objects   []table           `json:"objects"`
}

func main() {
	if len(os.Args) < 3 {
		fail(fmt.Errorf("give a chart, a file of values and versions of the API"))
	}
	chart := os.Args[1]
	values := merged(read(filepath.Join(chart, "values.yaml")), read(os.Args[2]))
	answer := result{Refused: refused(chart, values), Templates: map[string]string{}, Objects: []table{}}
	if len(answer.Refused) == 0 {
		render(chart, values, os.Args[3:], &answer)
	}
	must(json.NewEncoder(os.Stdout).Encode(answer))
}

// A person's values take the place of the chart's, key by key; null removes one.
func merged(own table, given table) table {
	for key, value := range given {
		before, isTable := own[key].(table)
		inner, isInner := value.(table)
		if value == nil {
			delete(own, key)
		} else if isTable && isInner {
			own[key] = merged(before, inner)
		} else {
			own[key] = value
		}
	}
	return own
}

func refused(chart string, values table) []string {
	schema, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	must(err)
	said, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(schema), gojsonschema.NewGoLoader(values))
	must(err)
	all := []string{}
	for _, one := range said.Errors() {
		all = append(all, one.String())
	}
	return all
}

func render(chart string, values table, api []string, answer *result) {
	all := template.New("gotpl").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	// A chart must not read the environment of the person who installs it.
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	all.Funcs(functions)
	folder := filepath.Join(chart, "templates")
	names := []string{}
	must(filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		must(err)
		name, err := filepath.Rel(folder, path)
		must(err)
		_, err = all.New(name).Parse(string(text))
		must(err)
		names = append(names, name)
		return nil
	}))
	data := table{
		"Values":       values,
		"Chart":        read(filepath.Join(chart, "Chart.yaml")),
		"Release":      table{"Name": "gantry", "Namespace": "default", "Service": "Helm", "IsInstall": true, "IsUpgrade": false, "Revision": 1},
		"Capabilities": table{"APIVersions": versions(api)},
	}
	for _, name := range names {
		var text strings.Builder
		must(all.ExecuteTemplate(&text, name, data))
		answer.Templates[name] = strings.ReplaceAll(text.String(), "<no value>", "")
		if strings.HasSuffix(name, ".yaml") {
			answer.Objects = append(answer.Objects, objects(name, answer.Templates[name])...)
		}
	}
}

var separator = regexp.MustCompile(`(?:^|\s*\n)---\s*`)

func objects(name string, text string) []table {
	all := []table{}
	for _, document := range separator.Split(text, -1) {
		object := table{}
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			fail(fmt.Errorf("%s: %w", name, err))
		}
		if len(object) > 0 {
			all = append(all, object)
		}
	}
	return all
}

func read(path string) table {
	text, err := os.ReadFile(path)
	must(err)
	all := table{}
	must(yaml.UnmarshalStrict(text, &all))
	return all
}

func must(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
