"""What published studies print beside plain curves: tables and charts of their own, for any study with such axes."""
