package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clustermanager/cluster-manager/render/catalog"
)

// The columns of a row that name what it prices.
const (
	kindColumn   = 0
	regionColumn = 1
	itemColumn   = 3
)

// table is the price table as it stands: its header, its rows and their regions, in the order of the file.
type table struct {
	header  []string
	old     [][]string
	regions []string
}

func readTable(name string) (table, error) {
	file, err := os.Open(name)
	if err != nil {
		return table{}, err
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 || len(rows[0]) != 7 {
		return table{}, fmt.Errorf("%s: it is no price table: %w", name, err)
	}
	read := table{header: rows[0], old: rows[1:]}
	for _, row := range read.old {
		if !slices.Contains(read.regions, row[regionColumn]) {
			read.regions = append(read.regions, row[regionColumn])
		}
	}
	return read, nil
}

// rows are the new table: the instance types of all regions, then the figures of their volumes. A type that a region's
// list does not have gets no row there; a region without the figures of volumes is an error.
func (t table) rows(offers map[string]offer, date string) ([][]string, error) {
	rows := [][]string{t.header}
	for _, region := range t.regions {
		offer := offers[region]
		for _, instanceType := range instanceTypes() {
			if usd := offer.hours[instanceType]; usd != "" {
				rows = append(rows, []string{"ec2_on_demand_linux", region, offer.location, instanceType, "USD/hour", usd, date})
			}
		}
	}
	for _, region := range t.regions {
		for _, family := range []string{"Storage", "Provisioned Throughput", "System Operation"} {
			figure, offer := figures[family], offers[region]
			usd := offer.figures[figure.item]
			if usd == "" {
				return nil, fmt.Errorf("price list of %s: it has no %s", region, figure.item)
			}
			rows = append(rows, []string{"ebs_gp3", region, offer.location, figure.item, figure.unit, usd, date})
		}
	}
	return rows, nil
}

// gone are the old rows whose subject has no new one.
func (t table) gone(rows [][]string) []string {
	name := func(row []string) string {
		return strings.Join([]string{row[kindColumn], row[regionColumn], row[itemColumn]}, " ")
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[name(row)] = true
	}
	var gone []string
	for _, row := range t.old {
		if !there[name(row)] {
			gone = append(gone, name(row))
		}
	}
	return gone
}

// instanceTypes are those of the catalog's accelerators, by family and then by size.
func instanceTypes() []string {
	accelerators := catalog.Accelerators()
	slices.SortFunc(accelerators, func(a, b catalog.Accelerator) int { return strings.Compare(a.Family, b.Family) })
	var types []string
	for _, accelerator := range accelerators {
		for _, size := range accelerator.Sizes {
			types = append(types, accelerator.Family+"."+size.Name)
		}
	}
	return types
}
